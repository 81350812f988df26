#include "tools/reenact/monitor/command_grader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

#include "tools/reenact/record/interruption.h"

namespace reenact::tools {
namespace {

constexpr int64_t kStepMs = 50;

// A file without a name: a program that neither reads its input nor stops writing blocks nobody.
class UnnamedFile {
 public:
  UnnamedFile() : fd_(memfd_create("reenact-grader", MFD_CLOEXEC)) {}

  ~UnnamedFile() {
    if (fd_ >= 0) close(fd_);
  }

  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  int fd() const { return fd_; }

  bool Fill(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t size = write(fd_, bytes.data(), bytes.size());
      if (size < 0 && errno != EINTR) return false;
      if (size > 0) bytes.remove_prefix(static_cast<size_t>(size));
    }
    return lseek(fd_, 0, SEEK_SET) == 0;
  }

  std::string FirstLine() const {
    char buffer[512];
    const ssize_t size = pread(fd_, buffer, sizeof buffer, 0);
    const std::string_view text(buffer, size > 0 ? static_cast<size_t>(size) : 0);
    return std::string(text.substr(0, text.find('\n')));
  }

 private:
  const int fd_;
};

// In a process group of its own, so that all of it can be ended. 0, or an errno.
int StartShell(const eval::Case& of, int input, int output, pid_t* pid) {
  std::vector<std::string> environment = {"REENACT_CASE=" + of.id};
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  std::string command = of.expected;
  std::string words[] = {"sh", "-c"};
  char* argv[] = {words[0].data(), words[1].data(), command.data(), nullptr};
  std::vector<char*> variables;
  for (std::string& entry : environment) variables.push_back(entry.data());
  variables.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error = posix_spawn(pid, "/bin/sh", &actions, &attributes, argv, variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Waits for it; nothing: it was ended, for `*why`.
bool WaitFor(pid_t pid, int64_t limit_ms, int* status, std::string* why) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  while (why->empty() && waitpid(pid, status, WNOHANG) != pid) {
    pollfd ended{process, POLLIN, 0};  // A negative descriptor is a wait for the time alone.
    poll(&ended, 1, kStepMs);
    if (Interruption::Happened()) *why = "interrupted";
    if (std::chrono::steady_clock::now() >= until)
      *why = absl::StrCat("the command took longer than ", limit_ms / 1000, " s");
  }
  if (process >= 0) close(process);
  if (why->empty()) return true;
  kill(-pid, SIGKILL);
  waitpid(pid, status, 0);
  return false;
}

}  // namespace

eval::Grade GradeByCommand(const eval::Case& of, const std::string& answer, int64_t limit_ms) {
  UnnamedFile input;
  const UnnamedFile output;
  if (input.fd() < 0 || output.fd() < 0 || !input.Fill(answer))
    return {std::nullopt, absl::StrCat("the answer cannot be handed over: ", strerror(errno))};
  pid_t pid = 0;
  if (const int error = StartShell(of, input.fd(), output.fd(), &pid); error != 0)
    return {std::nullopt, absl::StrCat("/bin/sh: ", strerror(error))};
  int status = 0;
  std::string why;
  if (!WaitFor(pid, limit_ms, &status, &why)) return {std::nullopt, why};
  why = output.FirstLine();
  if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
    return {WEXITSTATUS(status) == 0 ? 1.0 : 0.0, why};
  return {std::nullopt,
          WIFSIGNALED(status)
              ? absl::StrCat("the command was ended by signal ", WTERMSIG(status))
              : absl::StrCat("the command ended with ", WEXITSTATUS(status), ": ", why)};
}

}  // namespace reenact::tools
