// A replay means the same whatever order the threads of the program come in, and whenever it is
// run.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "replayer/replay_session.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

using schema::Boundary;

constexpr int kThreads = 8;
constexpr char kSample[] = R"({"model":"m","messages":[{"role":"user","content":"sample"}]})";

// Threads with a scope each, in which a clock is read and tools and models are called; and equal
// samples that all make in the scope of the run.
schema::RecordedRun ParallelTape() {
  TapeBuilder tape;
  for (int i = 0; i < kThreads; ++i) {
    const std::string scope = "worker-" + std::to_string(i);
    tape.Read(Boundary::kClock, "now", static_cast<uint64_t>(1000 + i), scope);
    tape.Add({.scope = scope,
              .boundary = Boundary::kTool,
              .name = "lookup",
              .request = R"({"id":)" + std::to_string(i) + "}",
              .reads = {"order " + std::to_string(i)}});
  }
  const size_t first = tape.run().events.size();
  for (int i = 0; i < kThreads; ++i) {
    tape.Begin({.request = kSample, .reads = {"sample " + std::to_string(i)}});
  }
  for (int i = kThreads; i-- > 0;) tape.End(first + static_cast<size_t>(i));
  return tape.run();
}

// One step of one thread: reads, asks the tool, takes a sample.
template <typename Program>
void Step(Program* program, int thread, int step) {
  const std::string scope = "worker-" + std::to_string(thread);
  if (step == 0) program->Read(Boundary::kClock, "now", nullptr, scope);
  if (step == 1) {
    program->Call({.scope = scope,
                   .boundary = Boundary::kTool,
                   .name = "lookup",
                   .request = R"({ "id": )" + std::to_string(thread) + " }"});
  }
  if (step == 2) program->Model(kSample);
}

// reports.md 17, 32
TEST(ScheduleIndependence, AnyInterleavingGivesOneFingerprintAtR2) {
  const schema::RecordedRun tape = ParallelTape();
  std::mt19937 random(17);
  std::string fingerprint;
  for (int round = 0; round < 100; ++round) {
    std::vector<int> turns;
    for (int i = 0; i < kThreads; ++i) turns.insert(turns.end(), 3, i);
    std::shuffle(turns.begin(), turns.end(), random);
    ReplaySession session(tape, {});
    auto program = ProgramOn(&session);
    program.Begin();
    std::vector<int> step(kThreads, 0);
    for (const int thread : turns) Step(&program, thread, step[static_cast<size_t>(thread)]++);
    program.Finish();
    const ReplayReport report =
        session.Finish({kReplayTime.wall_ns + round * int64_t{60'000'000'000}, round});
    ASSERT_EQ(report.level, FidelityLevel::kR2) << Kinds(report);
    EXPECT_EQ(report.interchangeable, kThreads);
    if (round == 0) fingerprint = report.fingerprint;
    ASSERT_EQ(report.fingerprint, fingerprint) << "round " << round;
  }
}

TEST(ScheduleIndependence, RealThreadsGiveTheSameFingerprint) {
  const schema::RecordedRun tape = ParallelTape();
  std::string fingerprint;
  for (int round = 0; round < 20; ++round) {
    ReplaySession session(tape, {});
    auto program = ProgramOn(&session);
    program.Begin();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&program, thread] {
        for (int step = 0; step < 3; ++step) Step(&program, thread, step);
      });
    }
    for (std::thread& thread : threads) thread.join();
    program.Finish();
    const ReplayReport report = session.Finish(kReplayTime);
    ASSERT_EQ(report.level, FidelityLevel::kR2) << Kinds(report);
    if (round == 0) fingerprint = report.fingerprint;
    ASSERT_EQ(report.fingerprint, fingerprint);
  }
}

// cases/replay.md 4: what was recorded is found again, whatever the conversation looked like.
TEST(ScheduleIndependence, EveryRecordedRequestMatchesItself) {
  std::mt19937 random(4);
  const auto pick = [&](const std::vector<std::string>& options) {
    return options[random() % options.size()];
  };
  for (int round = 0; round < 50; ++round) {
    TapeBuilder tape;
    std::vector<std::pair<std::string, std::string>> expected;
    for (int call = 0; call < 20; ++call) {
      std::string messages;
      for (uint32_t turn = 0; turn <= random() % 6; ++turn) {
        if (!messages.empty()) messages += ',';
        messages += pick(
            {R"({"role":"user","content":"a"})",
             R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]})",
             R"({"role":"tool","tool_call_id":"c1","content":"r"})",
             R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t"},{"type":"text","text":"b"}]})"});
      }
      const std::string request =
          R"({"model":")" + pick({"m1", "m2"}) + R"(","messages":[)" + messages + "]}";
      tape.Model(request, "answer " + std::to_string(call));
      expected.emplace_back(request, "answer " + std::to_string(call));
    }
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    for (const auto& [request, answer] : expected) EXPECT_EQ(program.Model(request), answer);
    program.Finish();
    EXPECT_EQ(session.Finish(kReplayTime).level, FidelityLevel::kR2);
  }
}

std::string FingerprintOf(const std::function<void(TapeBuilder*)>& change,
                          const std::string& output = R"({"refund":120})") {
  TapeBuilder tape;
  tape.Model(R"({"q":1})", "one");
  tape.Model(R"({"q":2})", "two");
  tape.Tool("t", "{}", "tool");
  tape.Read(Boundary::kClock, "now", 5);
  change(&tape);
  tape.run().end->output.bytes = output;
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  for (const schema::Event& event : tape.run().events) {
    if (event.boundary == Boundary::kModel) program.Model(event.request.bytes);
    if (event.boundary == Boundary::kTool) program.Tool(event.name, event.request.bytes);
    if (event.boundary == Boundary::kRetrieval) {
      program.Call({.boundary = Boundary::kRetrieval, .name = event.name, .request = "{}"});
    }
    if (event.boundary == Boundary::kClock) program.Read(Boundary::kClock, event.name);
  }
  program.Finish(output);
  return session.Finish(kReplayTime).fingerprint;
}

// reports.md 32
TEST(ScheduleIndependence, FingerprintChangesWithATokenAnOrderAndAType) {
  const std::string unchanged = FingerprintOf([](TapeBuilder*) {});
  EXPECT_EQ(FingerprintOf([](TapeBuilder* tape) {
              for (schema::Event& event : tape->run().events) {
                event.started.wall_ns += 60'000'000'000;
                event.elapsed_ns += 5;
                for (schema::ExchangeItem& item : event.exchange) item.offset_ns += 3;
              }
              tape->run().run.started.wall_ns += 60'000'000'000;
            }),
            unchanged);
  EXPECT_NE(FingerprintOf([](TapeBuilder* tape) { tape->run().events[0].response.bytes = "onE"; }),
            unchanged);
  EXPECT_NE(FingerprintOf([](TapeBuilder* tape) {
              std::swap(tape->run().events[0].sequence, tape->run().events[1].sequence);
            }),
            unchanged);
  EXPECT_NE(FingerprintOf(
                [](TapeBuilder* tape) { tape->run().events[2].boundary = Boundary::kRetrieval; }),
            unchanged);
  EXPECT_NE(FingerprintOf([](TapeBuilder* tape) { tape->run().events[3].value = 6; }), unchanged);
  EXPECT_NE(FingerprintOf([](TapeBuilder*) {}, R"({"refund":121})"), unchanged);
}

}  // namespace
}  // namespace reenact::replayer
