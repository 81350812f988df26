// A service at its busiest: eight threads, each in runs with parallel tools and equal samples of
// one request, in a process that forks four workers meanwhile, which do the same. Every event must
// be stored once, and every run must replay to the same answers whatever the schedule.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "reenact/reenact.hpp"
#include "replayer/replay_server.h"
#include "store/reader/segment_reader.h"
#include "store/reader/verify.h"
#include "store/store_layout.h"
#include "tests/recorder/recorder_fixture.h"

namespace reenact::testing {
namespace {

constexpr int kThreads = 8;
constexpr int kChildren = 4;
constexpr int kRunsInChild = 3;  // Of each thread.
constexpr int kTools = 3;
constexpr int kSamples = 3;
constexpr int kDrafts = 2;
constexpr int kCalls = kTools + kSamples + kDrafts;
constexpr char kEntry[] = "POST /refund";
constexpr char kSample[] = R"({"model":"m-2025-01-01","messages":[{"role":"user","content":"?"}]})";

// In what order the parallel parts of a run come.
using Schedule = std::function<void(const std::vector<std::function<void()>>& parts)>;

void OnThreads(const std::vector<std::function<void()>>& parts) {
  std::vector<std::thread> threads;
  for (const auto& part : parts) threads.emplace_back(part);
  for (std::thread& thread : threads) thread.join();
}

// One after the other, in an order that follows from the seed.
Schedule Shuffled(uint32_t seed) {
  return [seed](const std::vector<std::function<void()>>& parts) {
    std::vector<size_t> order(parts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    for (const size_t part : order) parts[part]();
  };
}

struct Answers {
  std::string tools[kTools];
  std::string samples[kSamples];  // Each in a scope of its own.
  std::string drafts[kDrafts];    // Equal requests in one scope: any may get any answer.
  int diverged = 0;
  int live = 0;

  std::string Joined() {
    std::sort(std::begin(drafts), std::end(drafts));
    std::string joined;
    for (const std::string& text : tools) joined += text + "\n";
    for (const std::string& text : samples) joined += text + "\n";
    for (const std::string& text : drafts) joined += text + "\n";
    return joined;
  }
};

// The service, the same for recording and replaying. Every answer of a run is another one.
Answers HandleRefund(Recorder* recorder, const std::string& input, const Schedule& schedule) {
  Answers answers;
  std::atomic<int> diverged{0};
  std::atomic<int> live{0};
  std::atomic<int> tickets{0};
  Run run = recorder->StartRun({.entry = kEntry, .input = input});
  const auto keep = [&](const Result& result, std::string* answer) {
    diverged += result.diverged() ? 1 : 0;
    *answer = result.text();
  };
  const auto sample = [&](Seam& seam, const std::function<std::string()>& text) {
    return seam.CallModel({.provider = "openai", .request = kSample}, [&](Sink& sink) {
      ++live;
      sink.Head(200);
      sink.Bytes(text());
    });
  };
  std::vector<std::function<void()>> parts;
  for (int i = 0; i < kTools; ++i) {
    parts.emplace_back([&, i] {
      Scope scope = run.Child("tool-" + std::to_string(i));
      keep(scope.CallTool("lookup", R"({"order":)" + std::to_string(i) + "}",
                          [&] {
                            ++live;
                            return input + " order " + std::to_string(i);
                          }),
           &answers.tools[i]);
    });
  }
  for (int i = 0; i < kSamples; ++i) {
    parts.emplace_back([&, i] {
      Scope scope = run.Child("sample-" + std::to_string(i));
      keep(sample(scope, [&] { return input + " sample " + std::to_string(i); }),
           &answers.samples[i]);
    });
  }
  for (int i = 0; i < kDrafts; ++i) {
    parts.emplace_back([&, i] {
      keep(sample(run, [&] { return input + " draft " + std::to_string(tickets++); }),
           &answers.drafts[i]);
    });
  }
  schedule(parts);
  answers.diverged = diverged;
  answers.live = live;
  run.Finish(answers.Joined());
  return answers;
}

Answers Expected(const std::string& input) {
  Answers answers;
  for (int i = 0; i < kTools; ++i) answers.tools[i] = input + " order " + std::to_string(i);
  for (int i = 0; i < kSamples; ++i) answers.samples[i] = input + " sample " + std::to_string(i);
  for (int i = 0; i < kDrafts; ++i) answers.drafts[i] = input + " draft " + std::to_string(i);
  return answers;
}

std::string InputOf(int process, int thread, int number) {
  return "process " + std::to_string(process) + " thread " + std::to_string(thread) + " run " +
         std::to_string(number);
}

// In a forked child: threads of its own through the recorder that it inherited.
int Serve(Recorder* recorder, int process) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([=] {
      for (int i = 0; i < kRunsInChild; ++i) {
        HandleRefund(recorder, InputOf(process, t, i), OnThreads);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const bool recorded = recorder->metrics().lost == 0;
  return recorder->Close(kPatienceMs) == REENACT_OK && recorded ? 0 : 1;
}

class ParallelFork : public RecorderTest {
 protected:
  // Records in this process (0) and its children (1, 2, ...), and gives the inputs of all runs.
  std::set<std::string> Record() {
    Recorder recorder({.store = store_path_, .service = "refund-agent", .mode = Mode::kRecord});
    EXPECT_EQ(recorder.code(), REENACT_OK) << recorder.error();
    std::atomic<bool> forked{false};
    std::atomic<int> busy{0};
    int runs[kThreads] = {};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        do {
          HandleRefund(&recorder, InputOf(0, t, runs[t]), OnThreads);
          if (runs[t]++ == 0) ++busy;
        } while (!forked);
      });
    }
    while (busy < kThreads) std::this_thread::yield();
    std::vector<pid_t> children;
    for (int process = 1; process <= kChildren; ++process) {
      const pid_t pid = fork();
      if (pid == 0) _exit(Serve(&recorder, process));
      children.push_back(pid);
    }
    forked = true;
    for (std::thread& thread : threads) thread.join();
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(recorder.metrics().lost, 0u);
    EXPECT_EQ(recorder.Close(kPatienceMs), REENACT_OK);
    std::set<std::string> inputs;
    for (int t = 0; t < kThreads; ++t) {
      for (int i = 0; i < runs[t]; ++i) inputs.insert(InputOf(0, t, i));
      for (int process = 1; process <= kChildren; ++process) {
        for (int i = 0; i < kRunsInChild; ++i) inputs.insert(InputOf(process, t, i));
      }
    }
    return inputs;
  }

  // Event rows of all segments, as they lie there: a reader would not show a row that is there
  // twice.
  std::map<schema::Ulid, std::multiset<uint64_t>> StoredSequences() const {
    std::map<schema::Ulid, std::multiset<uint64_t>> sequences;
    const store::StoreLayout layout{store_path_};
    for (const std::string& name : store::ListSegments(layout)) {
      auto segment = store::SegmentReader::Open(layout.segments() + "/" + name);
      if (!segment.ok()) {
        ADD_FAILURE() << segment.status();
        continue;
      }
      const absl::Status read = (*segment)->ForEachRun(false, [&](const store::RunRow& run) {
        const auto events = (*segment)->Events(run.ordinal, false);
        if (!events.ok()) return events.status();
        for (const schema::Event& event : *events) sequences[run.run.id].insert(event.sequence);
        return absl::OkStatus();
      });
      EXPECT_TRUE(read.ok()) << read;
    }
    return sequences;
  }

  static void ExpectReplaysAs(const schema::RecordedRun& recorded, const Schedule& schedule) {
    replayer::ReplaySession session(recorded, {});
    auto server = replayer::ReplayServer::Start(&session);
    ASSERT_TRUE(server.ok()) << server.status();
    const std::string& input = recorded.run.input.bytes;
    Answers answers;
    {
      Recorder recorder({.service = "refund-agent",
                         .mode = Mode::kReplay,
                         .replay_socket = (*server)->socket_path()});
      answers = HandleRefund(&recorder, input, schedule);
    }
    EXPECT_EQ(answers.live, 0);
    EXPECT_EQ(answers.diverged, 0);
    EXPECT_EQ(answers.Joined(), Expected(input).Joined());
    const replayer::ReplayReport report = session.Finish({1, 1});
    EXPECT_EQ(report.verdict, replayer::Verdict::kReproduced);
    EXPECT_EQ(report.level, replayer::FidelityLevel::kR2);
    EXPECT_EQ(report.calls_served, kCalls);
  }
};

TEST_F(ParallelFork, EveryEventIsStoredOnceAndReplayIsIndependentOfTheSchedule) {
  const std::set<std::string> inputs = Record();
  ASSERT_GE(inputs.size(), static_cast<size_t>(kThreads * (1 + kChildren * kRunsInChild)));
  const auto sequences = StoredSequences();
  std::multiset<std::string> stored;
  uint32_t seed = 1;
  for (const schema::RecordedRun& run : Runs()) {
    const std::string& input = run.run.input.bytes;
    SCOPED_TRACE(input);
    stored.insert(input);
    EXPECT_EQ(run.state, schema::EndState::kComplete);
    EXPECT_TRUE(run.gaps.empty());
    ASSERT_EQ(run.events.size(), static_cast<size_t>(kCalls));
    std::multiset<std::string> answers;
    std::multiset<uint64_t> numbers;
    for (const schema::Event& event : run.events) {
      answers.insert(event.response.bytes);
      numbers.insert(event.sequence);
    }
    Answers expected = Expected(input);
    std::multiset<std::string> expected_answers(std::begin(expected.tools),
                                                std::end(expected.tools));
    expected_answers.insert(std::begin(expected.samples), std::end(expected.samples));
    expected_answers.insert(std::begin(expected.drafts), std::end(expected.drafts));
    EXPECT_EQ(answers, expected_answers);
    EXPECT_EQ(sequences.at(run.run.id), numbers);
    ExpectReplaysAs(run, ++seed % 3 == 0 ? Schedule(OnThreads) : Shuffled(seed));
  }
  EXPECT_EQ(stored, std::multiset<std::string>(inputs.begin(), inputs.end()));
  const auto verified = store::VerifyStore(store_path_, nullptr);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_TRUE(verified->findings.empty()) << verified->findings[0].problem;
}

}  // namespace
}  // namespace reenact::testing
