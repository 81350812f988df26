// Matching, readings, runs and reports, without a socket.

#include "replayer/replay_session.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

using schema::Boundary;
using schema::EndState;

constexpr char kUser[] = R"({"model":"m","messages":[{"role":"user","content":"refund?"}]})";
constexpr char kAfterTool[] = R"({"model":"m","messages":[{"role":"user","content":"refund?"},)"
                              R"({"role":"assistant","tool_calls":[{"id":"c1","type":"function",)"
                              R"("function":{"name":"lookup","arguments":"{}"}}]},)"
                              R"({"role":"tool","tool_call_id":"c1","content":"120"}]})";

TEST(ReplaySession, EqualProgramReachesR2) {
  TapeBuilder tape;
  tape.Read(Boundary::kClock, "today", 1'779'271'200'000'000'000);
  tape.Model(kUser, "call lookup");
  tape.Tool("lookup", R"({"id":"A-17"})", "120");
  tape.Model(kAfterTool, "refund 120");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  ASSERT_TRUE(std::holds_alternative<schema::RunBound>(program.Begin()));
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), 1'779'271'200'000'000'000u);
  EXPECT_EQ(program.Model(kUser), "call lookup");
  EXPECT_EQ(program.Tool("lookup", R"({"id":"A-17"})"), "120");
  EXPECT_EQ(program.Model(kAfterTool), "refund 120");
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(Kinds(report), "");
  EXPECT_EQ(report.level, FidelityLevel::kR2);
  EXPECT_EQ(report.verdict, Verdict::kReproduced);
  EXPECT_TRUE(report.relaxed_by.empty());
  EXPECT_EQ(report.calls_served, 3);
  EXPECT_EQ(report.readings_served, 1);
  EXPECT_EQ(report.output, R"({"refund":120})");
}

// cases/replay.md 1
TEST(ReplaySession, ExhaustedTapeIsAnErrorThatNamesTheCall) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(kUser), "A");
  const std::string second = program.Model(kUser);
  EXPECT_TRUE(Contains(second, "DIVERGED exhausted")) << second;
  EXPECT_TRUE(Contains(second, "call #2")) << second;
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  ASSERT_EQ(Kinds(report), "exhausted");
  EXPECT_EQ(report.divergences[0].ordinal, 1);
  EXPECT_EQ(report.divergences[0].closest, 1u);
  EXPECT_EQ(report.verdict, Verdict::kDiverged);
  EXPECT_EQ(report.level, FidelityLevel::kR0);
}

// cases/replay.md 1
TEST(ReplaySession, EmptyTapeAnswersNothing) {
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
TEST(ReplaySession, ToolLoopMovesOn) {
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
TEST(ReplaySession, CallsOfOneUserMessageGetTheirOwnAnswersInAnyOrder) {
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

// cases/replay.md 6: the same cuts, the same bytes, the same error.
TEST(ReplaySession, CutsAndTransportErrorAreServedAsRecorded) {
  TapeBuilder tape;
  const std::vector<std::string> reads = {"data: {\"c\":\"caf\xc3", "\xa9\"}\n\nda", "ta: {"};
  tape.Add({.request = kUser, .reads = reads, .end_state = EndState::kReset, .end_detail = "RST"});
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  const schema::Message answer = program.BeginCall({.request = kUser});
  const auto& on_tape = std::get<schema::OnTape>(answer);
  EXPECT_EQ(on_tape.body, reads[0] + reads[1] + reads[2]);
  EXPECT_EQ(on_tape.exchange, tape.run().events[0].exchange);
  EXPECT_EQ(on_tape.end_state, EndState::kReset);
  EXPECT_EQ(on_tape.end_detail, "RST");
  program.EndCall(on_tape, EndState::kReset, on_tape.body.size());
  program.Finish();
  EXPECT_EQ(session.Finish(kReplayTime).level, FidelityLevel::kR2);
}

// cases/replay.md 10
TEST(ReplaySession, DateInPromptIsNamedAsTheOnlyDifference) {
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

// cases/replay.md 13
TEST(ReplaySession, NovelDrawShiftsNoOther) {
  TapeBuilder tape;
  tape.Read(Boundary::kRandom, "uuid", 11);
  tape.Read(Boundary::kRandom, "uuid", 22);
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  bool diverged = false;
  EXPECT_EQ(program.Read(Boundary::kRandom, "uuid"), 11u);
  EXPECT_EQ(program.Read(Boundary::kRandom, "jitter", &diverged), 0u);
  EXPECT_TRUE(diverged);
  EXPECT_EQ(program.Read(Boundary::kRandom, "uuid"), 22u);
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  ASSERT_EQ(Kinds(report), "novel_reading");
  EXPECT_TRUE(Contains(report.divergences[0].message, "random \"jitter\""))
      << report.divergences[0].message;
  EXPECT_TRUE(Contains(report.divergences[0].message, "#1"));
  EXPECT_EQ(report.level, FidelityLevel::kR1);
}

TEST(ReplaySession, ClockPastItsEndStaysAtTheLastReading) {
  TapeBuilder tape;
  tape.Read(Boundary::kClock, "today", 100);
  tape.Read(Boundary::kClock, "today", 200);
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  bool diverged = false;
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), 100u);
  EXPECT_EQ(program.Read(Boundary::kClock, "deadline", &diverged), 100u);
  EXPECT_TRUE(diverged);
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), 200u);
  EXPECT_EQ(program.Read(Boundary::kClock, "today", &diverged), 200u);
  EXPECT_TRUE(diverged);
  EXPECT_EQ(Kinds(session.Finish(kReplayTime)), "novel_reading novel_reading process");
}

TEST(ReplaySession, ClockBeforeAnyReadingIsTheBeginningOfTheRun) {
  TapeBuilder tape;
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Read(Boundary::kClock, "today"), 1'779'271'200'000'000'000u);
}

// cases/replay.md 14, reports.md 19
TEST(ReplaySession, EqualRequestsAreAnsweredInTheirOrderAndThenExhausted) {
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
TEST(ReplaySession, ParallelRequestsGetTheirOwnAnswers) {
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

TEST(ReplaySession, OverlappingEqualRequestsAreOneBag) {
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

TEST(ReplaySession, AmongEqualKeysTheRequestEqualInEveryMemberComesFirst) {
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
TEST(ReplaySession, TieBetweenUnequalAnswersIsAnErrorThatListsThem) {
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
  EXPECT_EQ(ambiguous->candidates, (std::vector<uint64_t>{1, 1}));
}

// cases/replay.md 19
TEST(ReplaySession, MissNamesTheKeyTheClosestRecordAndExactlyThePathsThatDiffer) {
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
  EXPECT_EQ(novel->closest, 3u);  // The sequence of the second call.
  std::vector<std::string> paths;
  for (const schema::JsonDifference& difference : novel->differences) {
    paths.push_back(difference.path);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"temperature", "messages[3].content"}));
  EXPECT_TRUE(Contains(miss, novel->key)) << miss;
  EXPECT_TRUE(Contains(miss, "record 3")) << miss;
  EXPECT_TRUE(Contains(miss, "2 paths differ")) << miss;
}

TEST(ReplaySession, CallInAnotherScopeIsComparedWithTheRecordOfItsName) {
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
TEST(ReplaySession, CutIncompleteAndDamagedRecordsAreRefusedByName) {
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
  EXPECT_TRUE(Contains(cut, "record 1")) << cut;
  EXPECT_TRUE(Contains(cut, "10 of 5400000 bytes")) << cut;
  const std::string incomplete =
      refusal([](schema::Event* event) { event->end_state = EndState::kIncomplete; });
  EXPECT_TRUE(Contains(incomplete, "DIVERGED unusable")) << incomplete;
  const std::string damaged =
      refusal([](schema::Event* event) { event->response.bytes.pop_back(); });
  EXPECT_TRUE(Contains(damaged, "do not add up")) << damaged;
}

TEST(ReplaySession, CutRequestIsFoundByItsBeginning) {
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

// cases/replay.md 30
TEST(ReplaySession, RetriesOfTheTransportAreServedInOrder) {
  TapeBuilder tape;
  schema::Event& event = tape.Add({.request = kUser, .reads = {"slow down", "answer"}});
  schema::ExchangeItem end;
  end.kind = schema::ExchangeItemKind::kAttemptEnd;
  end.detail = "provider_error:rate_limit";
  schema::ExchangeItem limited = event.exchange[0];
  limited.status = 429;
  limited.headers = {{"Retry-After", "2"}};
  event.exchange = {limited, event.exchange[1], end, event.exchange[0], event.exchange[2]};
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  const schema::Message answer = program.BeginCall({.request = kUser});
  const auto& on_tape = std::get<schema::OnTape>(answer);
  EXPECT_EQ(on_tape.exchange, event.exchange);
  EXPECT_EQ(schema::FindLastAttempt(on_tape.exchange, on_tape.body).body, "answer");
  EXPECT_EQ(session.Finish(kReplayTime).attempts_on_tape, 2);
}

// cases/replay.md 32
TEST(ReplaySession, RecordThatNobodyAskedForIsOmitted) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  tape.Tool("send_email", R"({"to":"a@b.example"})", "sent");
  tape.Read(Boundary::kClock, "today", 1);
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(kUser), "A");
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  ASSERT_EQ(Kinds(report), "omitted_call omitted_reading");
  EXPECT_TRUE(Contains(report.divergences[0].message, "tool \"send_email\""));
  EXPECT_EQ(report.divergences[0].closest, 3u);
  EXPECT_EQ(report.verdict, Verdict::kDiverged);
  EXPECT_EQ(report.level, FidelityLevel::kR0);
}

// reports.md 25
TEST(ReplaySession, MemberOrderAndSpaceMatchAndOtherValuesDoNot) {
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

// reports.md 26, 22
TEST(ReplaySession, AnswersAreServedByteForByte) {
  const std::string answer =
      "{\"id\":\"x\",\"choices\":[],\"created\":1,\"usage\":{\"total\":3,\"prompt\":1},\"n\":null}";
  TapeBuilder tape;
  tape.Model(kUser, answer);
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Model(kUser), answer);
}

// reports.md 31
TEST(ReplaySession, OtherOutputOnEqualInputsIsUnrecordedNondeterminism) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  for (int i = 0; i < 50; ++i) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    EXPECT_EQ(program.Model(kUser), "A");
    const bool hold = i % 10 == 0;
    program.Finish(hold ? R"({"hold":true})" : R"({ "refund": 120 })");
    const ReplayReport report = session.Finish(kReplayTime);
    EXPECT_EQ(Kinds(report), hold ? "output" : "");
    EXPECT_EQ(report.output_equal, !hold);
    if (!hold) continue;
    EXPECT_TRUE(
        Contains(report.divergences[0].message,
                 "decision differs with identical recorded inputs: unrecorded nondeterminism"));
    EXPECT_FALSE(Contains(report.divergences[0].message, "drift"));
  }
}

TEST(ReplaySession, OutputThatFollowsFromAnotherDivergenceIsNotBlamedOnChance) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  program.Model(R"({"model":"other"})");
  program.Finish("none");
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(Kinds(report), "novel_call omitted_call");
  EXPECT_FALSE(report.output_equal);
}

// cases/replay.md 31
TEST(ReplaySession, ErrorTextsThatDifferInAddressesOrTimesAreCosmetic) {
  TapeBuilder tape;
  tape.run().end->state = EndState::kError;
  tape.run().end->detail = "bad_alloc at 0x7f3a12c0 on 2026-05-20T10:00:00Z";
  tape.run().end->output.bytes = "";
  const auto replay = [&](const std::string& detail) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    program.Finish("", EndState::kError, detail);
    return session.Finish(kReplayTime);
  };
  const ReplayReport cosmetic = replay("bad_alloc at 0x55d0e1 on 2026-09-01T11:30:00Z");
  EXPECT_EQ(Kinds(cosmetic), "");
  EXPECT_TRUE(cosmetic.output_equal);
  ASSERT_EQ(cosmetic.notes.size(), 1u);
  EXPECT_TRUE(Contains(cosmetic.notes[0], "addresses or times"));
  EXPECT_EQ(Kinds(replay("out of range at 0x55d0e1 on 2026-09-01T11:30:00Z")), "output");
}

TEST(ReplaySession, DateInAnAnswerIsNoCosmeticDifference) {
  TapeBuilder tape;
  tape.run().end->output.bytes = "due 2026-05-20";
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  program.Finish("due 2026-05-21");
  EXPECT_EQ(Kinds(session.Finish(kReplayTime)), "output");
}

TEST(ReplaySession, OtherRunsAreRefusedAndCounted) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  ReplaySession session(tape.run(), {});
  auto health = ProgramOn(&session);
  EXPECT_TRUE(std::holds_alternative<schema::Diverged>(health.Begin("GET /health", "")));
  EXPECT_TRUE(Contains(health.Model(kUser), "DIVERGED"));
  auto other = ProgramOn(&session);
  EXPECT_TRUE(
      std::holds_alternative<schema::Diverged>(other.Begin("POST /refund", R"({"order":"B-1"})")));
  auto program = ProgramOn(&session);
  // White space in the input is no difference.
  EXPECT_TRUE(std::holds_alternative<schema::RunBound>(
      program.Begin("POST /refund", R"({ "order": "A-17" })")));
  auto again = ProgramOn(&session);
  EXPECT_TRUE(std::holds_alternative<schema::Diverged>(again.Begin()));
  EXPECT_EQ(program.Model(kUser), "A");
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.refused_runs, 3);
  EXPECT_EQ(Kinds(report), "");
  EXPECT_EQ(report.level, FidelityLevel::kR2);
}

TEST(ReplaySession, RunThatNeverBeganIsInconclusiveAndNamesTheDifference) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin("POST /refund", R"({"order":"A-18"})");
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.verdict, Verdict::kInconclusive);
  EXPECT_EQ(report.level, FidelityLevel::kR0);
  ASSERT_EQ(Kinds(report), "novel_run no_run");
  ASSERT_EQ(report.divergences[0].differences.size(), 1u);
  EXPECT_EQ(report.divergences[0].differences[0].path, "order");
}

// cases/replay.md 25: nothing was compared.
TEST(ReplaySession, EmptyTapeWithoutOutputIsInconclusive) {
  TapeBuilder tape;
  tape.run().end.reset();
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  program.Finish("");
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.verdict, Verdict::kInconclusive);
  EXPECT_EQ(report.level, FidelityLevel::kR0);
}

schema::Component Prompt(const std::string& version, const std::string& content) {
  schema::Component component;
  component.kind = "prompt_template";
  component.name = "refund";
  component.version = version;
  component.content.bytes = content;
  return component;
}

TEST(ReplaySession, ComponentThatChangedIsNamed) {
  TapeBuilder tape;
  tape.run().components = {Prompt("v14", "Be brief.")};
  const auto replay = [&](std::vector<schema::Component> components) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin("POST /refund", R"({"order":"A-17"})", std::move(components));
    program.Finish();
    return session.Finish(kReplayTime);
  };
  EXPECT_EQ(Kinds(replay({})), "");
  EXPECT_EQ(Kinds(replay({Prompt("v14", "Be brief.")})), "");
  const ReplayReport version = replay({Prompt("v15", "Be brief.")});
  ASSERT_EQ(Kinds(version), "component");
  EXPECT_TRUE(Contains(version.divergences[0].message, "recorded version \"v14\", now \"v15\""));
  EXPECT_EQ(version.level, FidelityLevel::kR1);
  const ReplayReport content = replay({Prompt("v14", "Be brief!")});
  ASSERT_EQ(Kinds(content), "component");
  EXPECT_TRUE(Contains(content.divergences[0].message, "other content"));
  ASSERT_EQ(content.divergences[0].differences.size(), 1u);
}

TEST(ReplaySession, ReadingLessOfAnAnswerIsADivergence) {
  TapeBuilder tape;
  tape.Add({.request = kUser, .reads = {"one ", "two ", "three"}});
  const auto replay = [&](EndState state, uint64_t consumed) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    const schema::Message answer = program.BeginCall({.request = kUser});
    program.EndCall(std::get<schema::OnTape>(answer), state, consumed);
    program.Finish();
    return Kinds(session.Finish(kReplayTime));
  };
  EXPECT_EQ(replay(EndState::kComplete, 13), "");
  // cases/replay.md 7: closing after the last byte is no early stop.
  EXPECT_EQ(replay(EndState::kAbandonedByCaller, 13), "");
  EXPECT_EQ(replay(EndState::kAbandonedByCaller, 8), "not_read");
  EXPECT_EQ(replay(EndState::kError, 13), "not_read");
}

// cases/replay.md 7
TEST(ReplaySession, ReadingMoreThanWasReadIsADivergence) {
  TapeBuilder tape;
  tape.Add({.request = kUser, .reads = {"one "}, .end_state = EndState::kAbandonedByCaller});
  const auto replay = [&](EndState state) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    const schema::Message answer = program.BeginCall({.request = kUser});
    program.EndCall(std::get<schema::OnTape>(answer), state, 4);
    program.Finish();
    return Kinds(session.Finish(kReplayTime));
  };
  EXPECT_EQ(replay(EndState::kAbandonedByCaller), "");
  EXPECT_EQ(replay(EndState::kComplete), "not_read");
}

TEST(ReplaySession, CallThatIsNeverEndedIsNamed) {
  TapeBuilder tape;
  tape.Model(kUser, "A");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  program.BeginCall({.request = kUser});
  program.Finish();
  EXPECT_EQ(Kinds(session.Finish(kReplayTime)), "not_read");
}

// cases/replay.md 16, 17
TEST(ReplaySession, RotatedCredentialChangesNothingAndIsNowhereInTheReport) {
  TapeBuilder tape;
  tape.Tool("http", R"({"url":"u","api_key":"[redacted]"})", "ok");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  EXPECT_EQ(program.Tool("http", R"({"url":"u","api_key":"sk-rotated-4711-4711-4711"})"), "ok");
  const std::string miss =
      program.Tool("http", R"({"url":"v","api_key":"sk-rotated-4711-4711-4711"})");
  EXPECT_TRUE(Contains(miss, "DIVERGED")) << miss;
  EXPECT_FALSE(Contains(miss, "4711")) << miss;
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  for (const schema::Event& event : report.derived.events) {
    EXPECT_FALSE(Contains(event.request.bytes, "4711"));
  }
}

// cases/replay.md 16: secrets that only the recording process knew, by value.
TEST(ReplaySession, SecretThatNoPatternFindsIsLearnedFromItsPlace) {
  TapeBuilder tape;
  tape.run().run.input.bytes = R"({"order":"A-17","who":"[redacted]"})";
  tape.run().end->output.bytes = "refunded for [redacted].";
  tape.Tool("mail", R"({"to":"x","body":"code [redacted], thanks"})", "sent");
  tape.Tool("mail", R"({"to":"y","body":"[redacted]"})", "sent again");
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  ASSERT_TRUE(std::holds_alternative<schema::RunBound>(
      program.Begin("POST /refund", R"({"order":"A-17","who":"customer#4711"})")));
  EXPECT_EQ(program.Tool("mail", R"({"to":"x","body":"code pear-plum-fig, thanks"})"), "sent");
  EXPECT_EQ(program.Tool("mail", R"({"body":"pear-plum-fig","to":"y"})"), "sent again");
  const std::string miss = program.Tool("mail", R"({"to":"z","body":"pear-plum-fig"})");
  EXPECT_FALSE(Contains(miss, "plum")) << miss;
  program.Finish("refunded for customer#4711.");
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(Kinds(report), "novel_call");
  EXPECT_TRUE(report.output_equal);
  for (const schema::Event& event : report.derived.events) {
    EXPECT_FALSE(Contains(event.request.bytes, "plum"));
  }
}

TEST(ReplaySession, MarkDoesNotStandForAnythingElse) {
  TapeBuilder tape;
  tape.Tool("mail", R"({"to":"[redacted]","n":1})", "sent");
  for (const char* other : {R"({"to":"pear-plum-fig","n":2})", R"({"to":"two words","n":1})",
                            R"({"to":"","n":1})", R"({"to":["pear-plum-fig"],"n":1})"}) {
    ReplaySession session(tape.run(), {});
    auto program = ProgramOn(&session);
    program.Begin();
    EXPECT_TRUE(Contains(program.Tool("mail", other), "DIVERGED novel_call")) << other;
  }
}

TEST(ReplaySession, WrongProtocolVersionIsRefusedByName) {
  TapeBuilder tape;
  ReplaySession session(tape.run(), {});
  const schema::Message welcome = session.Answer(schema::Hello{1, 1, "s"});
  EXPECT_EQ(std::get<schema::Welcome>(welcome).entry, "POST /refund");
  const schema::Message refusal = session.Answer(schema::Hello{9, 1, "s"});
  EXPECT_TRUE(Contains(std::get<schema::Diverged>(refusal).message, "version 9"));
}

TEST(ReplaySession, AnswersOfTheReplayerAreNoQuestions) {
  TapeBuilder tape;
  ReplaySession session(tape.run(), {});
  EXPECT_TRUE(std::holds_alternative<schema::Diverged>(session.Answer(schema::Welcome{})));
  EXPECT_TRUE(std::holds_alternative<schema::Diverged>(session.Answer(schema::AwaitDrive{})));
  EXPECT_TRUE(std::holds_alternative<schema::Done>(session.Answer(schema::EndCall{1, 99})));
}

TEST(ReplaySession, EndlessRetriesAreCountedAndNotKept) {
  TapeBuilder tape;
  ReplaySession session(tape.run(), {});
  auto program = ProgramOn(&session);
  program.Begin();
  for (int i = 0; i < 1500; ++i) program.Model(kUser);
  program.Finish();
  const ReplayReport report = session.Finish(kReplayTime);
  EXPECT_EQ(report.divergences.size(), 1000u);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_TRUE(Contains(report.notes[0], "500 further divergences"));
}

}  // namespace
}  // namespace reenact::replayer
