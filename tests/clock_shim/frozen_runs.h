// Programs that run twice, the second time on the tape of the first.

#ifndef REENACT_TESTS_CLOCK_SHIM_FROZEN_RUNS_H_
#define REENACT_TESTS_CLOCK_SHIM_FROZEN_RUNS_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "clock_shim/frozen_process.h"
#include "clock_shim/tape_layout.h"
#include "schema/record.h"
#include "tests/support/temp_folder.h"

extern char** environ;

namespace reenact::clock_shim {

using namespace std::chrono_literals;

inline constexpr int64_t kDayNs = int64_t{86'400} * 1'000'000'000;
inline const std::string kProgram = REENACT_FROZEN_PROGRAM;

struct Outcome {
  std::string output;
  int status = 0;
  bool hung = false;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

// Runs a program with these variables added; kills it when it takes too long.
inline Outcome RunProgram(std::vector<std::string> argv,
                          const std::vector<std::pair<std::string, std::string>>& variables) {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/output";
  std::map<std::string, std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : variables) environment[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) entries.push_back(name + '=' + value);
  std::vector<char*> argument_list;
  std::vector<char*> entry_list;
  for (std::string& text : argv) argument_list.push_back(text.data());
  for (std::string& text : entries) entry_list.push_back(text.data());
  argument_list.push_back(nullptr);
  entry_list.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  Outcome outcome;
  EXPECT_EQ(posix_spawnp(&child, argument_list[0], &actions, nullptr, argument_list.data(),
                         entry_list.data()),
            0);
  posix_spawn_file_actions_destroy(&actions);
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (waitpid(child, &outcome.status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      outcome.hung = true;
      kill(child, SIGKILL);
      waitpid(child, &outcome.status, 0);
      break;
    }
    std::this_thread::sleep_for(2ms);
  }
  outcome.output = ReadFile(path);
  return outcome;
}

inline std::vector<TapeRead> ReadsOf(const schema::Component& thread) {
  std::vector<TapeRead> reads;
  const auto* bytes = reinterpret_cast<const uint8_t*>(thread.content.bytes.data());
  TapeRead read;
  for (size_t at = 0; at < thread.content.bytes.size();) {
    const size_t size = DecodeRead(bytes + at, thread.content.bytes.size() - at, &read);
    if (size == 0) break;
    at += size;
    reads.push_back(read);
  }
  return reads;
}

inline void SetReads(const std::vector<TapeRead>& reads, schema::Component* thread) {
  thread->content.bytes.clear();
  TapeRead before;
  for (const TapeRead& read : reads) {
    uint8_t bytes[kMaxReadSize];
    const size_t size = EncodeRead(read, before, bytes);
    thread->content.bytes.append(reinterpret_cast<const char*>(bytes), size);
    before = read;
  }
}

// A program's first run.
struct Recording {
  Outcome outcome;
  FrozenReport report;
  schema::RecordedRun run;
};

inline Recording Record(const std::vector<std::string>& argv, bool random = false) {
  Recording recording;
  auto frozen = FrozenProcess::Record(random);
  EXPECT_TRUE(frozen.ok()) << frozen.status();
  recording.run.run.started.wall_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count();
  recording.outcome = RunProgram(argv, (*frozen)->Environment());
  recording.report = (*frozen)->report();
  recording.run.components = (*frozen)->TakeTape();
  return recording;
}

// The same run as if it had been recorded then. `argv` must print the times it reads in ns, or
// nothing of them.
inline void MoveBack(int64_t by_ns, schema::RecordedRun* run) {
  run->run.started.wall_ns -= by_ns;
  for (schema::Component& thread : run->components) {
    if (thread.name == "seed") continue;
    std::vector<TapeRead> reads = ReadsOf(thread);
    for (TapeRead& read : reads) read.value_ns -= by_ns;
    SetReads(reads, &thread);
  }
}

struct Replayed {
  Outcome outcome;
  FrozenReport report;
};

inline Replayed Replay(const schema::RecordedRun& run, const std::vector<std::string>& argv,
                       std::vector<std::pair<std::string, std::string>> variables = {}) {
  Replayed replayed;
  auto frozen = FrozenProcess::Replay(run);
  EXPECT_TRUE(frozen.ok()) << frozen.status();
  for (auto& variable : (*frozen)->Environment()) variables.push_back(std::move(variable));
  replayed.outcome = RunProgram(argv, variables);
  replayed.report = (*frozen)->report();
  return replayed;
}

inline uint64_t RecordedReads(const FrozenReport& report) {
  uint64_t sum = 0;
  for (const ThreadReads& thread : report.threads) sum += thread.recorded;
  return sum;
}

inline void ExpectTheSame(const std::vector<std::string>& argv, uint64_t least_reads,
                          bool random = false) {
  const Recording first = Record(argv, random);
  ASSERT_FALSE(first.outcome.hung);
  ASSERT_TRUE(first.report.reached);
  EXPECT_GE(RecordedReads(first.report), least_reads);
  const Replayed second = Replay(first.run, argv);
  EXPECT_EQ(second.outcome.output, first.outcome.output);
  EXPECT_FALSE(second.outcome.output.empty());
  EXPECT_TRUE(second.report.reached);
  EXPECT_TRUE(second.report.equal());
  EXPECT_TRUE(second.report.unreached.empty()) << second.report.unreached.front();
}

}  // namespace reenact::clock_shim

#endif  // REENACT_TESTS_CLOCK_SHIM_FROZEN_RUNS_H_
