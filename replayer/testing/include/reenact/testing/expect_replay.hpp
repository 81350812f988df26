// A recorded incident as a GoogleTest: the program runs again on its tape, as a process of its own
// that the installed `reenact` starts, and each divergence is a failure of the current test.
//
//   TEST(Refunds, WrongRefundIsTheSameStill) {
//     reenact::testing::ExpectReplay(SOURCE_DIR "/tests/wrong_refund.reenact", {REFUND_SERVICE});
//   }
//
// C++17. With CMake: find_package(reenact COMPONENTS testing), and link reenact::testing, which
// brings GoogleTest and says where the command is. Replays nothing within the test process.

#ifndef REENACT_TESTING_EXPECT_REPLAY_HPP_
#define REENACT_TESTING_EXPECT_REPLAY_HPP_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

// The command: its path is set by the CMake target; else it is looked for in PATH.
#ifndef REENACT_COMMAND
#define REENACT_COMMAND "reenact"
#endif

extern "C" char** environ;

namespace reenact {
namespace testing {

namespace internal {

struct CommandResult {
  int exit_code = -1;  // -1: it did not run, or was killed.
  std::string output;  // Both streams.
};

inline CommandResult RunCommand(const std::vector<std::string>& words) {
  CommandResult result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    result.output = std::strerror(errno);
    return result;
  }
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) {
    char buffer[4096];
    ssize_t got = 0;
    while ((got = read(ends[0], buffer, sizeof(buffer))) > 0 || (got < 0 && errno == EINTR)) {
      if (got > 0) result.output.append(buffer, static_cast<std::size_t>(got));
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  } else {
    result.output = "cannot run " + words.front() + ": " + std::strerror(error);
  }
  close(ends[0]);
  return result;
}

// The divergences of a report, one text each: in the list under its headline each begins with its
// number, and what is indented further belongs to it.
inline std::vector<std::string> DivergencesIn(std::string_view report) {
  std::vector<std::string> divergences;
  bool in_list = false;
  while (!report.empty()) {
    const std::size_t end = report.find('\n');
    const std::string_view line = report.substr(0, end);
    report.remove_prefix(end == std::string_view::npos ? report.size() : end + 1);
    if (!in_list) {
      in_list = line == "Divergences, in order";
      continue;
    }
    if (line.substr(0, 2) != "  ") break;
    const std::size_t text = line.find_first_not_of("0123456789 ");
    const bool begins =
        text != std::string_view::npos && line[text] == '.' && line[text - 1] != ' ';
    if (begins) {
      const std::size_t kind = line.find_first_not_of(". ", text);
      divergences.emplace_back(kind == std::string_view::npos ? line : line.substr(kind));
    } else if (!divergences.empty()) {
      divergences.back().append("\n").append(line);
    }
  }
  return divergences;
}

}  // namespace internal

// Replays the fixture (`reenact fixture add` writes one) in `command`, the program as it runs in
// production. `options`: more of `reenact fixture run`, such as {"--drive", url}. Adds a failure
// for each divergence, and one where the fixture is stale, unused, empty or missing, or where
// nothing could be compared.
inline void ExpectReplay(const std::string& fixture, const std::vector<std::string>& command,
                         const std::vector<std::string>& options = {}) {
  std::vector<std::string> words = {REENACT_COMMAND, "fixture", "run", fixture};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  const internal::CommandResult result = internal::RunCommand(words);
  if (result.exit_code == 0) return;
  const std::vector<std::string> divergences = internal::DivergencesIn(result.output);
  for (const std::string& divergence : divergences) {
    ADD_FAILURE() << "fixture " << fixture << " diverged: " << divergence;
  }
  ADD_FAILURE() << "fixture " << fixture << " failed:\n" << result.output;
}

}  // namespace testing
}  // namespace reenact

#endif  // REENACT_TESTING_EXPECT_REPLAY_HPP_
