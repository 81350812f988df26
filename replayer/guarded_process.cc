#include "replayer/guarded_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"

#include "replayer/internal/network_filter.h"

// How a guarded program is started. The filter must be in place before the program's first
// instruction, and its listener must reach us without a system call that the filter itself holds
// up.
//
//   supervisor thread                     child (a copy of us, sharing only the descriptor table)
//   clone(CLONE_FILES | CLONE_VFORK) ───► own process group, dies with us, no new privileges
//        (waits)                          seccomp(): the listener appears in the shared table
//                                         execve(): the table is unshared, the listener is ours
//   poll, receive, judge, answer ◄─────── connect() of the program
//
// The supervisor thread lives as long as the program, because the kernel sends the signal of
// PR_SET_PDEATHSIG when the thread that made the child ends.

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

extern "C" char** environ;

namespace reenact::replayer {
namespace {

constexpr size_t kKeptAttempts = 100;

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
  int news = -1;  // A pipe.
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
  execve(plan.path, plan.argv, plan.environment);
  news.exec_error = errno;
  Tell(plan.news, news);
  _exit(127);
}

// The file that execvp would run; empty, with errno, when there is none.
std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return access(name.c_str(), X_OK) == 0 ? name : "";
  }
  const char* path = getenv("PATH");
  std::string rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  int error = ENOENT;
  while (true) {
    const size_t colon = rest.find(':');
    const std::string folder = rest.substr(0, colon);
    const std::string candidate = (folder.empty() ? "." : folder) + '/' + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    if (errno == EACCES) error = EACCES;
    if (colon == std::string::npos) break;
    rest.erase(0, colon + 1);
  }
  errno = error;
  return "";
}

absl::Status CannotRun(const std::string& program, int error) {
  const std::string message = "cannot run \"" + program + "\": " + strerror(error);
  return error == ENOENT || error == ENOTDIR ? absl::NotFoundError(message)
                                             : absl::UnavailableError(message);
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

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

struct GuardedProcess::Impl {
  ~Impl();
  void Supervise(const CommandOptions& options, bool require_guard);
  absl::Status Spawn(const CommandOptions& options, bool require_guard);
  absl::Status TakeNews(const std::string& program, bool require_guard, int news);
  void ServeNotifications();
  void AnswerOne();
  void Count(const Judgement& judgement, pid_t caller);
  bool SeeEnd();
  bool AwaitEnd(int64_t timeout_ms);
  void Reap();
  void SignalGroup(int signal_number);

  std::thread supervisor;
  int stop_event = -1;
  int listener = -1;
  int process = -1;  // A pidfd.
  pid_t pid = -1;

  mutable std::mutex mutex;  // Guards all that follows.
  std::condition_variable changed;
  std::optional<absl::Status> started;
  bool ended = false;
  bool reaped = false;
  int status = 0;
  GuardReport report;
};

// --- start ---

absl::Status GuardedProcess::Impl::Spawn(const CommandOptions& options, bool require_guard) {
  const std::string path = FindProgram(options.argv[0]);
  if (path.empty()) return CannotRun(options.argv[0], errno);
  std::vector<std::string> argv_texts = options.argv;
  std::vector<std::string> environment_texts = MakeEnvironment(options);
  const std::vector<char*> argv = Pointers(&argv_texts);
  const std::vector<char*> environment = Pointers(&environment_texts);

  ChildPlan plan;
  plan.path = path.c_str();
  plan.argv = argv.data();
  plan.environment = environment.data();
  plan.require_guard = require_guard;
  plan.parent = getpid();
  std::vector<sock_filter> filter;
  sock_fprog program{};
  if (!options.guard) {
    report.why_not = "it was not asked for";
  } else if (auto built = BuildNetworkFilter(); built.ok()) {
    filter = *std::move(built);
    program.len = static_cast<unsigned short>(filter.size());
    program.filter = filter.data();
    plan.filter = &program;
  } else if (require_guard) {
    return built.status();
  } else {
    report.why_not = std::string(built.status().message());
  }
  int news[2];
  if (pipe2(news, O_CLOEXEC | O_NONBLOCK) != 0) return CannotRun(path, errno);
  plan.news = news[1];
  // CLONE_VFORK: on return the child is the program, or has gone.
  const long child =
      syscall(SYS_clone, CLONE_FILES | CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) BecomeProgram(plan);
  const int clone_error = errno;
  close(news[1]);
  absl::Status result =
      child < 0 ? CannotRun(path, clone_error) : TakeNews(path, require_guard, news[0]);
  close(news[0]);
  if (child < 0) return result;
  if (!result.ok()) {
    waitpid(static_cast<pid_t>(child), nullptr, 0);
    return result;
  }
  pid = static_cast<pid_t>(child);
  process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  return absl::OkStatus();
}

absl::Status GuardedProcess::Impl::TakeNews(const std::string& program, bool require_guard,
                                            int news) {
  ChildNews told;
  int exec_error = 0;
  while (read(news, &told, sizeof(told)) == static_cast<ssize_t>(sizeof(told))) {
    if (told.listener >= 0) listener = told.listener;
    exec_error = told.exec_error;
    if (told.filter_error != 0) {
      report.why_not = std::string("the kernel refused the filter: ") + strerror(told.filter_error);
      if (require_guard) return absl::UnavailableError(report.why_not);
    }
  }
  if (exec_error != 0) return CannotRun(program, exec_error);
  report.guarded = listener >= 0;
  return absl::OkStatus();
}

// --- supervision ---

void GuardedProcess::Impl::Supervise(const CommandOptions& options, bool require_guard) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  absl::Status status_of_start = Spawn(options, require_guard);
  const bool ok = status_of_start.ok();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    started = std::move(status_of_start);
    changed.notify_all();
  }
  if (ok) ServeNotifications();
}

// Until it is stopped, or the whole tree under the filter has gone.
void GuardedProcess::Impl::ServeNotifications() {
  while (true) {
    pollfd wanted[2] = {{stop_event, POLLIN, 0}, {listener, POLLIN, 0}};
    const nfds_t count = listener >= 0 ? 2 : 1;
    if (poll(wanted, count, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (wanted[0].revents != 0) return;
    if ((wanted[1].revents & POLLIN) != 0) {
      AnswerOne();
    } else if ((wanted[1].revents & (POLLHUP | POLLERR)) != 0) {
      // Nobody is left to ask. Stay for the descriptor's sake: the child dies with this thread.
      close(listener);
      listener = -1;
    }
  }
}

void GuardedProcess::Impl::AnswerOne() {
  seccomp_notif notification{};
  // Fails when the caller was killed in the meantime.
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notification) != 0) return;
  const Judgement judgement = Judge(listener, notification);
  if (judgement.kind == Judgement::Kind::kStale) return;
  seccomp_notif_resp response{};
  response.id = notification.id;
  const bool refused =
      judgement.kind == Judgement::Kind::kRefuse || judgement.kind == Judgement::Kind::kProbe;
  if (refused) {
    response.error = -judgement.error;
  } else {
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  }
  // Counted first, so that whoever sees the program end sees the count. A caller that a signal took
  // away from its call before our answer makes the call again, and is counted then.
  Count(judgement, static_cast<pid_t>(notification.pid));
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0) return;
  const std::lock_guard<std::mutex> lock(mutex);
  if (judgement.kind == Judgement::Kind::kLoopback) --report.loopback;
  if (judgement.kind != Judgement::Kind::kRefuse) return;
  if (report.attempts.size() == static_cast<size_t>(report.refused)) report.attempts.pop_back();
  --report.refused;
}

void GuardedProcess::Impl::Count(const Judgement& judgement, pid_t caller) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (judgement.kind == Judgement::Kind::kLoopback) ++report.loopback;
  if (judgement.kind != Judgement::Kind::kRefuse) return;
  ++report.refused;
  if (report.attempts.size() < kKeptAttempts) {
    report.attempts.push_back({caller, judgement.call, judgement.address});
  }
}

// --- end ---

// As waitpid would have given it.
static int WaitStatus(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return info.si_status << 8;
  return info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
}

// Sees the end of the program and leaves it unreaped: as long as it is, no other process can get
// its number, and its group can be signalled.
bool GuardedProcess::Impl::SeeEnd() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (ended) return true;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    ended = errno == ECHILD;  // The host ignores SIGCHLD: how it ended is not known.
    reaped = ended;
    return ended;
  }
  if (info.si_pid == 0) return false;
  status = WaitStatus(info);
  ended = true;
  return true;
}

bool GuardedProcess::Impl::AwaitEnd(int64_t timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!SeeEnd()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    // Without a pidfd (before Linux 5.3) this is a wait in steps.
    constexpr int64_t kStepMs = 20;
    constexpr int64_t kLongestMs = 1 << 30;
    pollfd end = {process, POLLIN, 0};
    const int64_t wait_ms = std::min(left.count(), process >= 0 ? kLongestMs : kStepMs);
    poll(&end, process >= 0 ? 1 : 0, static_cast<int>(wait_ms));
  }
  return true;
}

void GuardedProcess::Impl::Reap() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!ended || reaped) return;
  waitpid(pid, nullptr, 0);
  reaped = true;
}

void GuardedProcess::Impl::SignalGroup(int signal_number) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (pid > 0 && !reaped) kill(-pid, signal_number);
}

GuardedProcess::Impl::~Impl() {
  if (supervisor.joinable()) {
    const uint64_t one = 1;
    // An eventfd takes this write whatever its count is.
    if (write(stop_event, &one, sizeof(one)) == static_cast<ssize_t>(sizeof(one))) {
      supervisor.join();
    } else {
      supervisor.detach();
    }
  }
  // A descendant that outlives us gets ENOSYS for its calls from here on: never the network.
  for (const int fd : {listener, process, stop_event}) {
    if (fd >= 0) close(fd);
  }
}

GuardedProcess::GuardedProcess() : impl_(std::make_unique<Impl>()) {}

GuardedProcess::~GuardedProcess() {
  if (impl_->pid > 0) Stop(0);
}

absl::StatusOr<std::unique_ptr<GuardedProcess>> GuardedProcess::Start(const CommandOptions& options,
                                                                      bool require_guard) {
  if (options.argv.empty()) return absl::NotFoundError("no program is named");
  std::unique_ptr<GuardedProcess> process(new GuardedProcess());
  Impl& impl = *process->impl_;
  impl.stop_event = eventfd(0, EFD_CLOEXEC);
  if (impl.stop_event < 0) return CannotRun(options.argv[0], errno);
  impl.supervisor = std::thread([&impl, &options, require_guard] {
    // Copied: the caller's options end with Start.
    const CommandOptions own = options;
    impl.Supervise(own, require_guard);
  });
  std::unique_lock<std::mutex> lock(impl.mutex);
  impl.changed.wait(lock, [&impl] { return impl.started.has_value(); });
  absl::Status status = *impl.started;
  lock.unlock();
  if (!status.ok()) return status;
  return process;
}

bool GuardedProcess::Wait(int64_t timeout_ms) {
  return impl_->AwaitEnd(timeout_ms);
}

void GuardedProcess::Stop(int64_t grace_ms) {
  if (grace_ms > 0 && !impl_->SeeEnd()) {
    impl_->SignalGroup(SIGTERM);
    impl_->AwaitEnd(grace_ms);
  }
  // The rest of the group too, whether or not its leader has gone.
  impl_->SignalGroup(SIGKILL);
  constexpr int64_t kKillMs = 10'000;  // A process in an uninterruptible wait is left behind.
  impl_->AwaitEnd(kKillMs);
  impl_->Reap();
}

int64_t GuardedProcess::pid() const {
  return impl_->pid;
}

int GuardedProcess::status() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->status;
}

GuardReport GuardedProcess::report() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->report;
}

}  // namespace reenact::replayer
