// Which record answers a request, and what is said when none does.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "replayer/replay_session.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

using schema::EndState;

// cases/replay.md 1
TEST(ReplayMatching, ExhaustedTapeIsAnErrorThatNamesTheCall) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(kUser), "A");
  const std::string second = program.Model(kUser);
  EXPECT_TRUE(Contains(second, "DIVERGED exhausted")) << second;
  EXPECT_TRUE(Contains(second, "call 2 there")) << second;
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  ASSERT_EQ(Kinds(report), "exhausted");
  EXPECT_EQ(report.divergences[0].ordinal, 1);
  EXPECT_EQ(report.divergences[0].closest, 0u);
  EXPECT_EQ(report.verdict, Verdict::kDiverged);
  EXPECT_EQ(report.level, FidelityLevel::kR0);
}

// cases/replay.md 1
TEST(ReplayMatching, EmptyTapeAnswersNothing) {
  TapeBuilder tape;
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_TRUE(Contains(program.Model(kUser), "DIVERGED novel_call"));
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(Kinds(report), "novel_call");
  EXPECT_EQ(report.verdict, Verdict::kDiverged);
}

// cases/replay.md 2
TEST(ReplayMatching, ToolLoopMovesOn) {
  TapeBuilder tape;
  tape.Model(kUser, "call lookup");
  tape.Model(kAfterTool, "the text");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(kUser), "call lookup");
  EXPECT_EQ(program.Model(kAfterTool), "the text");
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(Kinds(report), "");
  EXPECT_EQ(report.calls_served, 2);
}

// cases/replay.md 3
TEST(ReplayMatching, CallsOfOneUserMessageGetTheirOwnAnswersInAnyOrder) {
  const std::string chat =
      R"({"model":"opus","tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"hi"}]})";
  const std::string title =
      R"({"model":"haiku","response_format":{"type":"A"},"messages":[{"role":"user","content":"hi"}]})";
  const std::string suggestions =
      R"({"model":"haiku","response_format":{"type":"B"},"messages":[{"role":"user","content":"hi"}]})";
  TapeBuilder tape;
  tape.Model(chat, "chat");
  tape.Model(title, "title");
  tape.Model(suggestions, "suggestions");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(suggestions), "suggestions");
  EXPECT_EQ(program.Model(chat), "chat");
  EXPECT_EQ(program.Model(title), "title");
  program.Finish();
  EXPECT_EQ(session.Finish(kReplayTime).level, FidelityLevel::kR2);
}

// cases/replay.md 10
TEST(ReplayMatching, DateInPromptIsNamedAsTheOnlyDifference) {
  const auto prompt = [](const std::string& date) {
    return R"({"model":"m","messages":[{"role":"system","content":"Today's date: )" + date +
           R"("},{"role":"user","content":"refund?"}]})";
  };
  for (const auto& [recorded, now] : std::vector<std::pair<std::string, std::string>>{
           {"2026-05-20", "2026-09-01"}, {"May 20, 2026", "September 1, 2026"}}) {
    TapeBuilder tape;
    tape.Model(prompt(recorded), "A");
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    const std::string miss = program.Model(prompt(now));
    EXPECT_TRUE(Contains(miss, "the only difference is a date or time: messages[0].content"))
        << miss;
  }
}

// cases/replay.md 14, reports.md 19
TEST(ReplayMatching, EqualRequestsAreAnsweredInTheirOrderAndThenExhausted) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  tape.Model(kUser, "B");
  tape.Model(kUser, "C");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(kUser), "A");
  EXPECT_EQ(program.Model(kUser), "B");
  EXPECT_EQ(program.Model(kUser), "C");
  const std::string fourth = program.Model(kUser);
  EXPECT_TRUE(Contains(fourth, "recording exhausted")) << fourth;
  // cases/replay.md 19
  EXPECT_TRUE(Contains(fourth, "no field differs")) << fourth;
  EXPECT_TRUE(Contains(fourth, "all matching records already used (n=3)")) << fourth;
}

// cases/replay.md 14: answers that came out of order belong to their requests.
TEST(ReplayMatching, ParallelRequestsGetTheirOwnAnswers) {
  TapeBuilder tape;
  const auto request = [](int i) { return R"({"input":"text )" + std::to_string(i) + "\"}"; };
  for (int i = 0; i < 5; ++i) {
    tape.Begin({.name = "embed", .request = request(i), .reads = {"vector " + std::to_string(i)}});
  }
  for (const size_t i : {3, 0, 4, 2, 1}) tape.End(i);
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  for (const int i : {4, 2, 0, 1, 3}) {
    EXPECT_EQ(program.Call({.name = "embed", .request = request(i)}),
              "vector " + std::to_string(i));
  }
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.level, FidelityLevel::kR2);
  EXPECT_EQ(report.interchangeable, 0);
}

TEST(ReplayMatching, OverlappingEqualRequestsAreOneBag) {
  TapeBuilder tape;
  tape.Begin({.request = kUser, .reads = {"A"}});
  tape.Begin({.request = kUser, .reads = {"B"}});
  tape.End(1);
  tape.End(0);
  tape.Model(kUser, "C");  // After both: its place is known.
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(kUser), "A");
  EXPECT_EQ(program.Model(kUser), "B");
  EXPECT_EQ(program.Model(kUser), "C");
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.interchangeable, 2);
  EXPECT_EQ(report.level, FidelityLevel::kR2);
}

TEST(ReplayMatching, AmongEqualKeysTheRequestEqualInEveryMemberComesFirst) {
  TapeBuilder tape;
  tape.Model(R"({"model":"m","messages":[],"user":"ann"})", "for ann");
  tape.Model(R"({"model":"m","messages":[],"user":"bob"})", "for bob");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(R"({"model":"m","messages":[],"user":"bob"})"), "for bob");
  EXPECT_EQ(program.Model(R"({"model":"m","messages":[],"user":"cid"})"), "for ann");
}

// cases/replay.md 40
TEST(ReplayMatching, TieBetweenUnequalAnswersIsAnErrorThatListsThem) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  tape.Model(kUser, "B");
  tape.run().events[1].sequence = tape.run().events[0].sequence;
  tape.run().events[1].started = tape.run().events[0].started;
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  const std::string answer = program.Model(kUser);
  EXPECT_TRUE(Contains(answer, "DIVERGED ambiguous")) << answer;
  const ReplayReport report = session.Finish(kReplayTime);
  const Divergence* ambiguous = Find(report, DivergenceKind::kAmbiguous);
  ASSERT_NE(ambiguous, nullptr);
  EXPECT_EQ(ambiguous->candidates, (std::vector<size_t>{0, 1}));
}

// cases/replay.md 19
TEST(ReplayMatching, MissNamesTheKeyTheClosestRecordAndExactlyThePathsThatDiffer) {
  const auto request = [](const std::string& word, const std::string& temperature) {
    return R"({"model":"m","temperature":)" + temperature +
           R"(,"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},)"
           R"({"role":"assistant","content":"b"},{"role":"user","content":"please )" +
           word + R"( it"}]})";
  };
  TapeBuilder tape;
  tape.Model(kUser, "other");
  tape.Model(request("refund", "0"), "A");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(kUser), "other");
  const std::string miss = program.Model(request("return", "0.2"));
  const ReplayReport report = session.Finish(kReplayTime);
  const Divergence* novel = Find(report, DivergenceKind::kNovelCall);
  ASSERT_NE(novel, nullptr);
  EXPECT_EQ(novel->closest, 1u);
  std::vector<std::string> paths;
  for (const schema::JsonDifference& difference : novel->differences) {
    paths.push_back(difference.path);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"temperature", "messages[3].content"}));
  EXPECT_TRUE(Contains(miss, novel->key)) << miss;
  EXPECT_TRUE(Contains(miss, "event #1")) << miss;
  EXPECT_TRUE(Contains(miss, "2 paths differ")) << miss;
}

TEST(ReplayMatching, CallInAnotherScopeIsComparedWithTheRecordOfItsName) {
  TapeBuilder tape;
  tape.Add({.scope = "turn-1", .request = kUser, .reads = {"A"}});
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  const std::string miss = program.Call({.scope = "turn-2", .request = kUser});
  EXPECT_TRUE(Contains(miss, "nothing is recorded at this address")) << miss;
  EXPECT_TRUE(Contains(miss, "recorded in scope \"turn-1\"")) << miss;
}

// cases/replay.md 20, reports.md 70
TEST(ReplayMatching, CutIncompleteAndDamagedRecordsAreRefusedByName) {
  const auto refusal = [](const std::function<void(schema::Event*)>& damage) {
    TapeBuilder tape;
    damage(&tape.Model(kUser, "the answer"));
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    return program.Model(kUser);
  };
  EXPECT_EQ(refusal([](schema::Event*) {}), "the answer");
  const std::string cut = refusal([](schema::Event* event) {
    event->response.cut = true;
    event->response.original_size = 5'400'000;
  });
  EXPECT_TRUE(Contains(cut, "DIVERGED unusable")) << cut;
  EXPECT_TRUE(Contains(cut, "event #0")) << cut;
  EXPECT_TRUE(Contains(cut, "10 of 5400000 bytes")) << cut;
  const std::string incomplete =
      refusal([](schema::Event* event) { event->end_state = EndState::kIncomplete; });
  EXPECT_TRUE(Contains(incomplete, "DIVERGED unusable")) << incomplete;
  const std::string damaged =
      refusal([](schema::Event* event) { event->response.bytes.pop_back(); });
  EXPECT_TRUE(Contains(damaged, "do not add up")) << damaged;
}

TEST(ReplayMatching, CutRequestIsFoundByItsBeginning) {
  TapeBuilder tape;
  schema::Event& event = tape.Tool("import", "0123456789", "ok");
  event.request.cut = true;
  event.request.original_size = 20;
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  const std::string answer = program.Tool("import", "01234567890123456789");
  EXPECT_TRUE(Contains(answer, "DIVERGED unusable")) << answer;
  EXPECT_TRUE(Contains(answer, "10 of 20 bytes")) << answer;
}

// reports.md 25
TEST(ReplayMatching, MemberOrderAndSpaceMatchAndOtherValuesDoNot) {
  const auto matches = [](const std::string& recorded, const std::string& asked) {
    TapeBuilder tape;
    tape.Tool("t", recorded, "ok");
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    return program.Tool("t", asked) == "ok";
  };
  EXPECT_TRUE(matches(R"({"model":"m","stream":false})", R"({ "stream": false, "model": "m" })"));
  EXPECT_TRUE(matches("[1]", "[1.0]"));
  EXPECT_FALSE(matches("[1,2]", "[2,1]"));
  EXPECT_FALSE(matches("[1]", R"(["1"])"));
  EXPECT_FALSE(matches("{}", R"({"a":null})"));
  // reports.md 23
  EXPECT_FALSE(
      matches(R"({"order_id":9007199254740993123})", R"({"order_id":9007199254740993124})"));
}

// Calls over plain HTTP share one address for a host; their URLs tell them apart.
TEST(ReplayMatching, PlainHttpIsMatchedByPathAndQuery) {
  TapeBuilder tape;
  CallSpec call = {.boundary = schema::Boundary::kTool, .name = "GET orders", .provider = "http"};
  for (const std::string order : {"7", "8"}) {
    call.endpoint = "http://orders:81/orders/" + order + "?unit=eur";
    call.reads = {"order " + order};
    tape.Add(call);
  }
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  const auto get = [&](std::string_view target) {
    call.endpoint = "http://127.0.0.1:9" + std::string(target);
    return program.Call(call);
  };
  EXPECT_EQ(get("/orders/8?unit=eur"), "order 8");
  const std::string other = get("/orders/9?unit=eur");
  EXPECT_TRUE(Contains(other, "(path)")) << other;
  EXPECT_EQ(get("/orders/7?unit=eur"), "order 7");
}

}  // namespace
}  // namespace reenact::replayer
