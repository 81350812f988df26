// Programs that run twice, the second time on the tape of the first, with the clock days away.

#include "clock_shim/frozen_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "clock_shim/program_reach.h"
#include "clock_shim/tape_layout.h"
#include "schema/redaction.h"
#include "tests/support/temp_folder.h"

extern char** environ;

namespace reenact::clock_shim {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kDayNs = int64_t{86'400} * 1'000'000'000;
const std::string kProgram = REENACT_FROZEN_PROGRAM;

struct Outcome {
  std::string output;
  int status = 0;
  bool hung = false;
};

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

// Runs a program with these variables added; kills it when it takes too long.
Outcome RunProgram(std::vector<std::string> argv,
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

std::vector<TapeRead> ReadsOf(const schema::Component& thread) {
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

void SetReads(const std::vector<TapeRead>& reads, schema::Component* thread) {
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

Recording Record(const std::vector<std::string>& argv, bool random = false) {
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
void MoveBack(int64_t by_ns, schema::RecordedRun* run) {
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

Replayed Replay(const schema::RecordedRun& run, const std::vector<std::string>& argv,
                std::vector<std::pair<std::string, std::string>> variables = {}) {
  Replayed replayed;
  auto frozen = FrozenProcess::Replay(run);
  EXPECT_TRUE(frozen.ok()) << frozen.status();
  for (auto& variable : (*frozen)->Environment()) variables.push_back(std::move(variable));
  replayed.outcome = RunProgram(argv, variables);
  replayed.report = (*frozen)->report();
  return replayed;
}

uint64_t RecordedReads(const FrozenReport& report) {
  uint64_t sum = 0;
  for (const ThreadReads& thread : report.threads) sum += thread.recorded;
  return sum;
}

void ExpectTheSame(const std::vector<std::string>& argv, uint64_t least_reads,
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

// cases/replay.md 10
TEST(FrozenClock, EveryFunctionGivesWhatItGave) {
  ExpectTheSame({kProgram, "read"}, 8);
}

TEST(FrozenClock, EachThreadHasATapeByItsPlaceInTheTree) {
  ExpectTheSame({kProgram, "threads"}, 165 * 8);
}

TEST(FrozenClock, ForkExecSpawnAndShellKeepTheirPlaces) {
  ExpectTheSame({kProgram, "processes"}, 12 * 8);
}

TEST(FrozenClock, AMillionReadsStayAMappingOfAFile) {
  const std::vector<std::string> argv = {kProgram, "many", "1000000"};
  const Recording first = Record(argv);
  EXPECT_EQ(RecordedReads(first.report), 1'000'000U);
  size_t bytes = 0;
  for (const schema::Component& part : first.run.components) bytes += part.content.bytes.size();
  EXPECT_LT(bytes, 5'000'000U);
  EXPECT_GT(first.run.components.size(), 3U);  // Parts that a record can hold.
  const Replayed second = Replay(first.run, argv);
  EXPECT_EQ(second.outcome.output, first.outcome.output);
  EXPECT_TRUE(second.report.equal());
}

TEST(FrozenClock, NoWaitEndsEarlyOrHangsWhenTheTapeIsDaysOld) {
  Recording first = Record({kProgram, "waits"});
  EXPECT_EQ(first.outcome.output, "");
  for (const int64_t days : {2, -2}) {
    schema::RecordedRun run = first.run;
    MoveBack(days * kDayNs, &run);
    const Replayed second = Replay(run, {kProgram, "waits"});
    EXPECT_FALSE(second.outcome.hung) << days;
    EXPECT_EQ(second.outcome.output, "") << days;
    EXPECT_EQ(second.outcome.status, 0) << days;
  }
}

TEST(FrozenClock, ADeadlineFromAnotherThreadIsNotWaitedForByTheHour) {
  Recording first = Record({kProgram, "handed"});
  MoveBack(2 * kDayNs, &first.run);
  // While the waiter had nothing to do, the recorded main thread waited an hour for something that
  // the replay has at once.
  constexpr int64_t kHourNs = int64_t{3'600} * 1'000'000'000;
  for (schema::Component& thread : first.run.components) {
    if (thread.name != "thread 0") continue;
    std::vector<TapeRead> reads = ReadsOf(thread);
    ASSERT_EQ(reads.size(), 1U);
    for (TapeRead& read : reads) read.value_ns += kHourNs;
    SetReads(reads, &thread);
  }
  const Replayed second = Replay(first.run, {kProgram, "handed"});
  EXPECT_FALSE(second.outcome.hung);
  EXPECT_EQ(second.outcome.output, "");
}

TEST(FrozenClock, ALoopThatPollsUntilAMomentEnds) {
  ExpectTheSame({kProgram, "poll"}, 3);
  Recording first = Record({kProgram, "poll"});
  // The tape ends in the middle of the loop.
  for (schema::Component& thread : first.run.components) {
    if (thread.name == "seed") continue;
    std::vector<TapeRead> reads = ReadsOf(thread);
    reads.resize(3);
    SetReads(reads, &thread);
  }
  const Replayed second = Replay(first.run, {kProgram, "poll"});
  EXPECT_EQ(second.outcome.output, "done\n");
  EXPECT_FALSE(second.report.equal());
}

TEST(FrozenClock, SignalHandlersMayReadInsideOfARead) {
  const Recording first = Record({kProgram, "signals"});
  EXPECT_EQ(first.outcome.output, "done\n");
  EXPECT_EQ(first.outcome.status, 0);
  const Replayed second = Replay(first.run, {kProgram, "signals"});
  EXPECT_EQ(second.outcome.output, "done\n");
  EXPECT_EQ(second.outcome.status, 0);
}

TEST(FrozenClock, ReadsPastTheTapeGoOnFromItsEndAndAreCounted) {
  const Recording first = Record({kProgram, "hours"});
  const Replayed second = Replay(first.run, {kProgram, "hours"}, {{"MORE_READS", "1"}});
  EXPECT_TRUE(second.outcome.output.starts_with(first.outcome.output));
  EXPECT_FALSE(second.report.equal());
  ASSERT_EQ(second.report.threads.size(), 1U);
  EXPECT_EQ(second.report.threads[0].replayed, 24U);
  EXPECT_EQ(second.report.threads[0].past_tape, 16U);
}

TEST(FrozenClock, AReadThatIsNotMadeIsCounted) {
  const Recording first = Record({kProgram, "threads"});
  const Replayed second = Replay(first.run, {kProgram, "read"});
  EXPECT_FALSE(second.report.equal());
  EXPECT_EQ(second.report.threads.size(), 7U);
}

TEST(FrozenClock, AKilledProgramLeavesAWholeTape) {
  const Recording first = Record({kProgram, "die"});
  EXPECT_TRUE(WIFSIGNALED(first.outcome.status));
  ASSERT_EQ(first.run.components.size(), 2U);
  EXPECT_EQ(ReadsOf(first.run.components[1]).size(), 1000U);
}

TEST(FrozenClock, ATapeThatIsNotWholeIsRefused) {
  const Recording first = Record({kProgram, "read"});
  schema::RecordedRun run = first.run;
  run.components[1].content.bytes.pop_back();
  EXPECT_EQ(FrozenProcess::Replay(run).status().code(), absl::StatusCode::kDataLoss);
  run = first.run;
  run.components[1].content.redacted = true;
  EXPECT_EQ(FrozenProcess::Replay(run).status().code(), absl::StatusCode::kDataLoss);
  run = first.run;
  run.components[1].name = "thread ../0";
  EXPECT_EQ(FrozenProcess::Replay(run).status().code(), absl::StatusCode::kDataLoss);
}

TEST(FrozenClock, TapesAreNoText) {
  const Recording first = Record({kProgram, "many", "100000"}, /*random=*/true);
  for (const schema::Component& component : first.run.components) {
    EXPECT_FALSE(schema::NeedsRedaction(component.content.bytes, schema::RedactionPolicy()));
    EXPECT_TRUE(IsTape(component));
  }
}

// cases/replay.md: what cannot be reached is said.
TEST(ProgramReach, StaticProgramsAreNamedSo) {
  EXPECT_STREQ(WhyUnreachable(REENACT_STATIC_PROGRAM), "statically linked");
  EXPECT_EQ(WhyUnreachable(kProgram.c_str()), nullptr);
  EXPECT_EQ(WhyUnreachable("/nowhere/at/all"), nullptr);
  const Recording first = Record({REENACT_STATIC_PROGRAM});
  EXPECT_FALSE(first.report.reached);
}

TEST(ProgramReach, AStaticProgramThatWasStartedIsNamed) {
  const Recording first = Record({kProgram, "run", REENACT_STATIC_PROGRAM});
  EXPECT_TRUE(first.report.reached);
  ASSERT_EQ(first.report.unreached.size(), 1U);
  EXPECT_EQ(first.report.unreached[0],
            std::string(REENACT_STATIC_PROGRAM) + " (statically linked)");
}

// With cgo, which is Go's default where there is a C compiler, the library is loaded and of no use.
TEST(ProgramReach, AGoProgramThatLoadsTheLibraryIsNamed) {
  constexpr std::string_view kWhy = "written in Go, which reads the clock past libc";
  EXPECT_EQ(WhyUnreachable(REENACT_GO_NOTE_PROGRAM), kWhy);
  for (const Recording& recording :
       {Record({REENACT_GO_NOTE_PROGRAM}), Record({kProgram, "run", REENACT_GO_NOTE_PROGRAM})}) {
    EXPECT_TRUE(recording.report.reached);
    ASSERT_EQ(recording.report.unreached.size(), 1U);
    EXPECT_TRUE(recording.report.unreached[0].ends_with(std::string(" (").append(kWhy) + ")"));
  }
}

TEST(ProgramReach, ScriptsAreJudgedByTheirInterpreter) {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/script";
  std::ofstream(path) << "#! " << REENACT_STATIC_PROGRAM << " -x\n";
  EXPECT_STREQ(WhyUnreachable(path.c_str()), "statically linked");
  std::ofstream(path) << "#!/bin/sh\n";
  EXPECT_EQ(WhyUnreachable(path.c_str()), nullptr);
}

TEST(FrozenRandom, PythonDrawsTheSame) {
  ExpectTheSame(
      {REENACT_PYTHON, "-c",
       "import random,uuid,os,secrets,time,datetime,threading,subprocess,queue\n"
       "print(random.random(), uuid.uuid4(), os.urandom(5), secrets.token_hex(8))\n"
       "print(open('/dev/urandom','rb').read(8), hash('a string'), {'a','b','c'})\n"
       "print(datetime.datetime.now(), time.strftime('%c'))\n"
       "begin = time.monotonic()\n"
       "threading.Event().wait(0.1)\n"
       "try: queue.Queue().get(timeout=0.1)\n"
       "except queue.Empty: pass\n"
       "print(0.2 <= time.monotonic() - begin < 3)\n"
       "runs = [subprocess.Popen(['date', '+%N'], stdout=subprocess.PIPE) for _ in range(3)]\n"
       "print([run.communicate()[0] for run in runs])\n"},
      5, /*random=*/true);  // As many as are written here; Python 3.11 makes some of its own.
}

TEST(FrozenRandom, NodeDrawsTheSame) {
  if (std::string(REENACT_NODE).empty()) GTEST_SKIP() << "no node was found";
  ExpectTheSame(
      {REENACT_NODE, "--input-type=module", "-e",
       "import {randomUUID, randomBytes, randomInt, randomFillSync} from 'node:crypto';"
       "import {setTimeout as sleep} from 'node:timers/promises';"
       "import {Worker} from 'node:worker_threads';"
       "console.log(Math.random(), randomUUID(), randomBytes(5).toString('hex'), randomInt(100),"
       "  crypto.randomUUID(), crypto.getRandomValues(new Uint16Array(3)).join(),"
       "  randomFillSync(new Uint32Array(2), 1).join(), randomBytes(5000).toString('hex').length);"
       "const begin = performance.now();"
       "await Promise.all([1, 2, 3].map((i) => sleep(20 * i)));"
       "console.log(new Date().toISOString(), performance.now() - begin >= 59);"
       "const worker = new Worker('require(\"worker_threads\").parentPort.postMessage("
       "  [Math.random(), Date.now()])', {eval: true, execArgv: []});"
       "worker.on('message', (drawn) => console.log(drawn));"},
      3, /*random=*/true);
}

TEST(FrozenRandom, TwoRecordingsDrawDifferently) {
  const std::vector<std::string> argv = {REENACT_PYTHON, "-c", "import os; print(os.urandom(16))"};
  EXPECT_NE(Record(argv, true).outcome.output, Record(argv, true).outcome.output);
}

TEST(FrozenClock, ShellsWithFunctionsOfTheirOwnRunUnderIt) {
  ExpectTheSame(
      {"/bin/bash", "-c", "x=$(date +%s.%N); echo $x; date +%N; (date +%N; exec date +%N)"}, 4);
}

// Without --random it is none of our business.
TEST(FrozenRandom, IsLeftAloneUnlessAskedFor) {
  const std::vector<std::string> argv = {REENACT_PYTHON, "-c", "import os; print(os.urandom(16))"};
  const Recording first = Record(argv);
  EXPECT_NE(Replay(first.run, argv).outcome.output, first.outcome.output);
}

}  // namespace
}  // namespace reenact::clock_shim
