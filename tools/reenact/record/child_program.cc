#include "tools/reenact/record/child_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/status/status.h"

#include "schema/exec_vector.h"

namespace reenact::tools {
namespace {

// Longer output is passed on and not kept: a run's output has room for a mebibyte.
constexpr size_t kCaptureLimit = 256 << 10;

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// Passes on what a program writes, and keeps it.
class OutputTee {
 public:
  // `descriptor`: where it goes.
  explicit OutputTee(int descriptor) : descriptor_(descriptor), stop_(eventfd(0, EFD_CLOEXEC)) {
    if (pipe2(pipe_, O_CLOEXEC) != 0) pipe_[0] = pipe_[1] = -1;
  }

  ~OutputTee() {
    Finish();
    for (const int fd : {pipe_[0], pipe_[1], stop_}) {
      if (fd >= 0) close(fd);
    }
  }

  OutputTee(const OutputTee&) = delete;
  OutputTee& operator=(const OutputTee&) = delete;

  bool ok() const { return pipe_[1] >= 0 && stop_ >= 0; }

  int write_end() const { return pipe_[1]; }

  void Start() {
    close(std::exchange(pipe_[1], -1));
    fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
    thread_ = std::thread([this] { Copy(); });
  }

  // The program is gone: what it wrote is read, what its descendants will write is not waited for.
  void Finish() {
    if (!thread_.joinable()) return;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof(one));
    thread_.join();
  }

  std::optional<std::string> Take() {
    Finish();
    if (too_long_) return std::nullopt;
    return std::move(kept_);
  }

 private:
  void Copy() {
    pollfd waits[] = {{pipe_[0], POLLIN, 0}, {stop_, POLLIN, 0}};
    for (;;) {
      char buffer[16 << 10];
      const ssize_t size = read(pipe_[0], buffer, sizeof(buffer));
      if (size > 0) {
        PassOn({buffer, static_cast<size_t>(size)});
      } else if (size == 0 || errno != EAGAIN || (waits[1].revents & POLLIN) != 0) {
        return;
      } else {
        poll(waits, 2, -1);
      }
    }
  }

  void PassOn(std::string_view bytes) {
    if (kept_.size() + bytes.size() > kCaptureLimit) {
      too_long_ = true;
    } else if (!too_long_) {
      kept_ += bytes;
    }
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written <= 0 && errno != EINTR) return;
      if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
    }
  }

  const int descriptor_;
  const int stop_;
  int pipe_[2] = {-1, -1};
  std::thread thread_;
  std::string kept_;
  bool too_long_ = false;
};

struct SpawnPlan {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  int output = -1;  // Descriptors for it; -1: this process's own.
  int error = -1;
  sigset_t mask;
};

// 0, or an errno.
int Spawn(SpawnPlan plan, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (plan.output >= 0) posix_spawn_file_actions_adddup2(&actions, plan.output, STDOUT_FILENO);
  if (plan.error >= 0) posix_spawn_file_actions_adddup2(&actions, plan.error, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &plan.mask);
  const int error = posix_spawnp(pid, plan.argv[0].c_str(), &actions, &attributes,
                                 schema::ExecVector(&plan.argv).data(),
                                 schema::ExecVector(&plan.environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

absl::Status StartError(const std::string& program, int error) {
  const std::string text = program + ": " + strerror(error);
  if (error == ENOENT) return absl::NotFoundError(text);
  if (error == EACCES || error == ENOEXEC) return absl::PermissionDeniedError(text);
  return absl::UnavailableError(text);
}

// Waits for the program, passing signals on.
int WaitForwarding(pid_t pid, const ForwardedSignals& signals) {
  for (;;) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == pid) return status;
    siginfo_t info;
    const int number = sigwaitinfo(&signals.set(), &info);
    if (number <= 0 || number == SIGCHLD) continue;
    // What the terminal sends it sends to its whole group.
    if (info.si_code != SI_KERNEL) kill(pid, number);
  }
}

schema::CommandEnd EndOf(int status) {
  schema::CommandEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_status = WEXITSTATUS(status);
  }
  return end;
}

}  // namespace

ForwardedSignals::ForwardedSignals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGCHLD);
  for (const int number : kForwarded) sigaddset(&set_, number);
  // Ignored, as by a shell's `trap ''`, it would leave no status to wait for.
  signal(SIGCHLD, SIG_DFL);
  pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

ForwardedSignals::~ForwardedSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

absl::StatusOr<schema::CommandEnd> RunChild(const ChildOptions& options,
                                            const ForwardedSignals& signals) {
  SpawnPlan plan;
  plan.argv = options.argv;
  plan.mask = signals.before();
  for (const auto& [name, value] : options.environment) {
    plan.environment.push_back(name + "=" + value);
  }
  std::unique_ptr<OutputTee> output;
  std::unique_ptr<OutputTee> error;
  if (options.capture_output) {
    output = std::make_unique<OutputTee>(STDOUT_FILENO);
    error = std::make_unique<OutputTee>(STDERR_FILENO);
    if (!output->ok() || !error->ok()) return absl::UnavailableError(strerror(errno));
    plan.output = output->write_end();
    plan.error = error->write_end();
  }
  pid_t pid = 0;
  if (const int failed = Spawn(std::move(plan), &pid); failed != 0) {
    return StartError(options.argv[0], failed);
  }
  if (output) output->Start();
  if (error) error->Start();
  schema::CommandEnd end = EndOf(WaitForwarding(pid, signals));
  if (output) end.standard_output = output->Take();
  if (error) end.standard_error = error->Take();
  return end;
}

std::optional<std::string> OutputOf(const std::vector<std::string>& argv) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  SpawnPlan plan{.argv = argv, .output = ends[1], .error = nothing};
  for (char** entry = environ; *entry != nullptr; ++entry) plan.environment.emplace_back(*entry);
  sigemptyset(&plan.mask);
  pid_t pid = 0;
  const int failed = Spawn(std::move(plan), &pid);
  close(ends[1]);
  close(nothing);
  std::string out;
  char buffer[4096];
  for (;;) {
    const ssize_t size = failed == 0 ? read(ends[0], buffer, sizeof(buffer)) : 0;
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    out.append(buffer, static_cast<size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  if (failed != 0 || waitpid(pid, &status, 0) != pid) return std::nullopt;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return out;
}

}  // namespace reenact::tools
