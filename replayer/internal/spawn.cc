#include "replayer/internal/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "replayer/guarded_process.h"
#include "replayer/internal/network_filter.h"
#include "schema/exec_vector.h"

// How a guarded program is started. The filter must be in place before the program's first
// instruction, and its listener must reach us without a system call that the filter itself holds
// up.
//
//   supervisor thread                     child (a copy of us, sharing only the descriptor table)
//   clone(CLONE_FILES | CLONE_VFORK) ───► own process group, dies with us, no new privileges
//        (waits)                          seccomp(): the listener appears in the shared table
//                                         execve(): the table is unshared, the listener is ours
//   poll, receive, judge, answer ◄─────── connect() of the program

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

extern "C" char** environ;

namespace reenact::replayer {
namespace {

// What the child tells before it becomes the program, or instead of becoming it.
struct ChildNews {
  int listener = -1;     // Of the filter.
  int filter_error = 0;  // Why there is none.
  int exec_error = 0;    // Why it did not become the program.
};

// All that the child needs, made before it: it must not allocate.
struct ChildPlan {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  const sock_fprog* filter = nullptr;  // Null: unguarded.
  bool require_guard = false;
  int news = -1;                    // A pipe, whose other end the parent reads.
  const char* directory = nullptr;  // Null: the parent's.
  int standard_output = -1;
  int standard_error = -1;
  pid_t parent = 0;
};

int InstallFilter(const sock_fprog& filter, int* listener) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  // With the second flag a signal does not restart a call that is being judged, where the kernel
  // knows how.
  for (const unsigned long flags :
       {SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
        SECCOMP_FILTER_FLAG_NEW_LISTENER}) {
    const long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
    if (fd >= 0) {
      *listener = static_cast<int>(fd);
      return 0;
    }
    if (errno != EINVAL) return errno;
  }
  return errno;
}

void Tell(int pipe, const ChildNews& news) {
  // A pipe takes this whole, and has room: nothing else is written to it.
  if (write(pipe, &news, sizeof(news)) < 0) _exit(127);
}

// The descriptor table is ours alone from here on. 0, or an error.
int RedirectOutput(const ChildPlan& plan) {
  if (plan.standard_output < 0 && plan.standard_error < 0) return 0;
  if (unshare(CLONE_FILES) != 0) return errno;
  if (plan.standard_output >= 0 && dup2(plan.standard_output, STDOUT_FILENO) < 0) return errno;
  if (plan.standard_error >= 0 && dup2(plan.standard_error, STDERR_FILENO) < 0) return errno;
  return 0;
}

// Runs in the child: only system calls.
[[noreturn]] void BecomeProgram(const ChildPlan& plan) {
  ChildNews news;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != plan.parent) _exit(127);
  // A program in the background must fail to read a terminal, not stop for ever.
  signal(SIGTTIN, SIG_IGN);
  signal(SIGTTOU, SIG_IGN);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (plan.filter != nullptr) {
    news.filter_error = InstallFilter(*plan.filter, &news.listener);
    Tell(plan.news, news);
    if (news.filter_error != 0 && plan.require_guard) _exit(127);
  }
  if (plan.directory != nullptr && chdir(plan.directory) != 0) {
    news.exec_error = errno;
  } else {
    news.exec_error = RedirectOutput(plan);
  }
  if (news.exec_error == 0) {
    execve(plan.path, plan.argv, plan.environment);
    news.exec_error = errno;
  }
  Tell(plan.news, news);
  _exit(127);
}

// A file that may be executed; false with errno. Folders may be "executed" too, but not run.
bool IsProgram(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return false;
  if (S_ISREG(status.st_mode)) return access(path.c_str(), X_OK) == 0;
  errno = S_ISDIR(status.st_mode) ? EISDIR : EACCES;
  return false;
}

// The file that execvp would run; empty, with errno, when there is none.
std::string FindProgram(const std::string& name) {
  if (name.empty()) {
    errno = ENOENT;
    return "";
  }
  if (name.find('/') != std::string::npos) return IsProgram(name) ? name : "";
  const char* path = getenv("PATH");
  std::string rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  int error = ENOENT;
  while (true) {
    const size_t colon = rest.find(':');
    const std::string folder = rest.substr(0, colon);
    const std::string candidate = (folder.empty() ? "." : folder) + '/' + name;
    if (IsProgram(candidate)) return candidate;
    if (errno == EACCES) error = EACCES;
    if (colon == std::string::npos) break;
    rest.erase(0, colon + 1);
  }
  errno = error;
  return "";
}

absl::Status CannotRun(const std::string& program, int error) {
  const std::string message = "cannot run \"" + program + "\": " + strerror(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EISDIR:
    case ENOEXEC:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

std::vector<std::string> MakeEnvironment(const CommandOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : options.set_environment) variables[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + '=' + value);
  return entries;
}

// Reads what the child told. The listener, where there is one, goes to `spawned` in any case.
absl::Status TakeNews(const ChildPlan& plan, int news, Spawned* spawned) {
  ChildNews told;
  int exec_error = 0;
  while (read(news, &told, sizeof(told)) == static_cast<ssize_t>(sizeof(told))) {
    if (told.listener >= 0) spawned->listener = told.listener;
    exec_error = told.exec_error;
    if (told.filter_error == 0) continue;
    spawned->why_not_guarded =
        std::string("the kernel refused the filter: ") + strerror(told.filter_error);
    if (plan.require_guard) return absl::UnavailableError(spawned->why_not_guarded);
  }
  return exec_error == 0 ? absl::OkStatus() : CannotRun(plan.path, exec_error);
}

absl::StatusOr<Spawned> StartChild(ChildPlan plan, std::string why_not_guarded) {
  Spawned spawned;
  spawned.why_not_guarded = std::move(why_not_guarded);
  int news[2];
  if (pipe2(news, O_CLOEXEC | O_NONBLOCK) != 0) return CannotRun(plan.path, errno);
  plan.news = news[1];
  // CLONE_VFORK: on return the child is the program, or has gone.
  const long child =
      syscall(SYS_clone, CLONE_FILES | CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) BecomeProgram(plan);
  const int clone_error = errno;
  close(news[1]);
  absl::Status status =
      child < 0 ? CannotRun(plan.path, clone_error) : TakeNews(plan, news[0], &spawned);
  close(news[0]);
  if (!status.ok()) {
    if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
    if (spawned.listener >= 0) close(spawned.listener);
    return status;
  }
  spawned.pid = static_cast<pid_t>(child);
  spawned.process = static_cast<int>(syscall(SYS_pidfd_open, spawned.pid, 0));
  return spawned;
}

}  // namespace

absl::StatusOr<Spawned> Spawn(const CommandOptions& options, bool require_guard) {
  const bool elsewhere = !options.directory.empty() &&
                         options.argv[0].find('/') != std::string::npos &&
                         !options.argv[0].starts_with('/');
  const std::string path =
      FindProgram(elsewhere ? options.directory + '/' + options.argv[0] : options.argv[0]);
  if (path.empty()) return CannotRun(options.argv[0], errno);
  std::vector<std::string> argv_texts = options.argv;
  std::vector<std::string> environment_texts = MakeEnvironment(options);
  const std::vector<char*> argv = schema::ExecVector(&argv_texts);
  const std::vector<char*> environment = schema::ExecVector(&environment_texts);

  ChildPlan plan;
  plan.path = path.c_str();
  plan.argv = argv.data();
  plan.environment = environment.data();
  plan.require_guard = require_guard;
  plan.parent = getpid();
  if (!options.directory.empty()) plan.directory = options.directory.c_str();
  plan.standard_output = options.standard_output;
  plan.standard_error = options.standard_error;
  if (!options.guard) return StartChild(plan, "it was not asked for");
  absl::StatusOr<std::vector<sock_filter>> filter = BuildNetworkFilter();
  if (!filter.ok()) {
    if (require_guard) return filter.status();
    return StartChild(plan, std::string(filter.status().message()));
  }
  const sock_fprog program{static_cast<unsigned short>(filter->size()), filter->data()};
  plan.filter = &program;
  return StartChild(plan, "");
}

}  // namespace reenact::replayer
