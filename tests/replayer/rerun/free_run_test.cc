// A model left free on a recorded conversation, against a provider that a test scripts: what is
// live, what comes from the tape, and by which name each run ends.

#include "replayer/rerun/free_run.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "replayer/rerun/http_target.h"
#include "schema/json_view.h"
#include "tests/replayer/rerun/scripted_server.h"

namespace reenact::rerun {
namespace {

constexpr char kUserMessage[] = R"({"role":"user","content":"Refund A-1, please."})";

std::string Says(const std::string& text, const std::string& id) {
  return R"({"id":")" + id +
         R"(","object":"chat.completion","created":1,"model":"m-1","choices":[)" +
         R"({"index":0,"message":{"role":"assistant","content":")" + text +
         R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}})";
}

// `arguments` with quotes escaped.
std::string CallOf(const std::string& tool, const std::string& arguments, const std::string& call) {
  return R"({"id":")" + call + R"(","type":"function","function":{"name":")" + tool +
         R"(","arguments":")" + arguments + R"("}})";
}

std::string Asks(const std::string& tool, const std::string& arguments, const std::string& id,
                 const std::string& words = "null") {
  return R"({"id":")" + id +
         R"(","object":"chat.completion","created":1,"model":"m-1","choices":[)" +
         R"({"index":0,"message":{"role":"assistant","content":)" + words + R"(,"tool_calls":[)" +
         CallOf(tool, arguments, "call-" + id) +
         R"(]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3}})";
}

std::string RequestOf(const std::string& messages) {
  return R"({"model":"m-1","messages":[)" + messages + R"(],"temperature":0})";
}

std::string After(const std::string& messages, const std::string& call, const std::string& id,
                  const std::string& told) {
  return messages + R"(,{"role":"assistant","content":null,"tool_calls":[)" + call +
         R"(]},{"role":"tool","tool_call_id":")" + id + R"(","content":")" + told + R"("})";
}

schema::Event Tool(const std::string& name, const std::string& request, const std::string& answer) {
  schema::Event event;
  event.boundary = schema::Boundary::kTool;
  event.name = name;
  event.request.bytes = request;
  event.response.bytes = answer;
  event.end_state = schema::EndState::kComplete;
  return event;
}

// Looks up, refunds 12, says so; the tool "policy" was asked by the program itself.
schema::RecordedRun Conversation() {
  schema::RecordedRun tape;
  tape.run.id = schema::MakeUlid(1'700'000'000'000, {1, 2, 3});
  const std::string first = kUserMessage;
  const std::string second =
      After(first, CallOf("lookup", R"({\"order\":\"A-1\"})", "call-r0"), "call-r0", "12 paid");
  const std::string third =
      After(second, CallOf("refund", R"({\"amount\":12})", "call-r1"), "call-r1", "done");
  tape.events.push_back(Tool("policy", R"({"of":"A-1"})", "14 days"));
  tape.events.push_back(
      RecordedChat(RequestOf(first), Asks("lookup", R"({\"order\":\"A-1\"})", "r0")));
  tape.events.push_back(Tool("lookup", R"({"order":"A-1"})", "12"));
  tape.events.push_back(
      RecordedChat(RequestOf(second), Asks("refund", R"({\"amount\":12})", "r1")));
  tape.events.push_back(RecordedChat(RequestOf(third), Says("Refunded 12.", "r2")));
  return tape;
}

std::string Json(const std::string& body) {
  return Http("200 OK", "Content-Type: application/json\r\n", body);
}

class FreeRunTest : public ::testing::Test {
 protected:
  // `answer` gives the body for request `index`, from 0.
  using Script = std::function<std::string(int index, const std::string& request)>;

  FreeReport Run(const Script& answer, FreeRunOptions options = {}, Budget budget = {}) {
    return RunOn([&](int index, const std::string&,
                     const std::string& body) { return Json(answer(index, body)); },
                 Conversation(), options, budget);
  }

  FreeReport RunOn(
      const std::function<std::string(int, const std::string&, const std::string&)>& answer,
      const schema::RecordedRun& tape, const FreeRunOptions& options, Budget budget = {}) {
    server_ = std::make_unique<ScriptedServer>(answer);
    ledger_ = std::make_unique<Ledger>(budget);
    auto target = MakeHttpTarget({.base_url = server_->url(), .max_attempts = 1}, ledger_.get());
    EXPECT_TRUE(target.ok());
    auto report = RerunFree(tape, target->get(), options);
    EXPECT_TRUE(report.ok()) << report.status();
    return *std::move(report);
  }

  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<Ledger> ledger_;
};

std::string AsRecorded(int index) {
  const std::string id = "n" + std::to_string(index);
  if (index % 3 == 0) return Asks("lookup", R"({ \"order\": \"A-1\" })", id);
  if (index % 3 == 1) return Asks("refund", R"({\"amount\":12})", id);
  return Says("Refunded 12.", id);
}

TEST_F(FreeRunTest, TheSameWayAsksTheRecordedRequests) {
  const auto says = [](int index, const std::string&) {
    if (index % 3 == 0)
      return Asks("lookup", R"({\"order\":\"A-1\"})", "n" + std::to_string(index));
    return AsRecorded(index);
  };
  const FreeReport report = Run(says, {.rerun = {.count = 2}});
  EXPECT_EQ(report.verdict, RerunVerdict::kReproduced);
  EXPECT_EQ(report.Count(FreeOutcome::kSame), 2);
  ASSERT_EQ(server_->bodies().size(), 6u);
  EXPECT_EQ(server_->bodies()[5], Conversation().events[4].request.bytes);
  const FreeRun& run = report.runs[0];
  EXPECT_EQ(run.end, FreeEnd::kFinished);
  EXPECT_FALSE(run.left_at.has_value());
  EXPECT_EQ(run.answered(), 3);
  EXPECT_EQ(run.tools_from_tape(), 2);
  ASSERT_EQ(report.calls.size(), 3u);
  EXPECT_EQ(report.calls[2].event_index, 4u);
  EXPECT_EQ(report.calls[2].agreed, 2);
}

TEST_F(FreeRunTest, OtherWordsLeaveTheMessagesAndNotTheOutcome) {
  const FreeReport report = Run([](int index, const std::string&) { return AsRecorded(index); });
  // Spaces between the arguments: other bytes, the same call.
  EXPECT_EQ(report.verdict, RerunVerdict::kReproduced);
  const FreeRun& run = report.runs[0];
  EXPECT_EQ(run.left_at, 0u);
  EXPECT_FALSE(run.left_by_action);
  EXPECT_EQ(run.outcome, FreeOutcome::kSame);
  EXPECT_FALSE(run.steps[1].recorded.has_value());
  // The model is asked with its own call, and told what the recorded program told it.
  const std::string body = server_->bodies()[1];
  EXPECT_NE(body.find("call-n0"), std::string::npos) << body;
  EXPECT_NE(body.find("\"content\":\"12 paid\""), std::string::npos) << body;
  EXPECT_EQ(body.find("call-r0"), std::string::npos) << body;
}

TEST_F(FreeRunTest, AnotherWayGoesOnAsLongAsTheTapeKnowsItsTools) {
  const auto says = [](int index, const std::string&) {
    if (index == 0) return Asks("policy", R"({\"of\":\"A-1\"})", "n0");
    return Says("No refund after 14 days.", "n1");
  };
  const FreeReport report = Run(says);
  EXPECT_EQ(report.verdict, RerunVerdict::kDiverged);
  const FreeRun& run = report.runs[0];
  EXPECT_EQ(run.end, FreeEnd::kFinished);
  EXPECT_EQ(run.outcome, FreeOutcome::kOther);
  EXPECT_EQ(run.left_at, 0u);
  EXPECT_TRUE(run.left_by_action);
  EXPECT_EQ(run.steps[0].tools, std::vector<size_t>{0});
  EXPECT_NE(server_->bodies()[1].find("\"content\":\"14 days\""), std::string::npos);
  ASSERT_EQ(report.derived.size(), 1u);
  ASSERT_EQ(report.derived[0].events.size(), 4u);  // What came before, two answers, one tool.
  EXPECT_EQ(report.derived[0].events[2].name, "policy");
  EXPECT_EQ(report.derived[0].run.parent, Conversation().run.id);
}

TEST_F(FreeRunTest, AToolThatNobodyRecordedEndsTheRun) {
  const auto says = [](int index, const std::string&) {
    return index == 0 ? Asks("lookup", R"({\"order\":\"A-1\"})", "n0")
                      : Asks("refund", R"({\"amount\":120})", "n1");
  };
  const FreeReport report = Run(says);
  EXPECT_EQ(report.verdict, RerunVerdict::kDiverged);
  const FreeRun& run = report.runs[0];
  EXPECT_EQ(run.end, FreeEnd::kToolNotRecorded);
  EXPECT_EQ(run.end_detail, R"(refund {"amount":120})");
  EXPECT_EQ(run.left_at, 1u);
  EXPECT_EQ(server_->bodies().size(), 2u) << "nothing is asked after it";
}

TEST_F(FreeRunTest, AToolIsAnsweredAsOftenAsItWasRecorded) {
  const auto says = [](int index, const std::string&) {
    return Asks("lookup", R"({\"order\":\"A-1\"})", "n" + std::to_string(index), "\"Again.\"");
  };
  const FreeRun run = Run(says).runs[0];
  // What the model was told, once; and what the tool itself answered has no second occurrence.
  EXPECT_EQ(run.end, FreeEnd::kToolUsedUp);
  EXPECT_EQ(run.end_detail, R"(lookup {"order":"A-1"}, recorded 1 time)");
  EXPECT_EQ(run.answered(), 2);
}

schema::RecordedRun ManyLookups() {
  schema::RecordedRun tape = Conversation();
  for (int i = 0; i < 50; ++i) tape.events.push_back(Tool("policy", R"({"of":"A-1"})", "14 days"));
  return tape;
}

TEST_F(FreeRunTest, AModelThatLoopsForEverIsStoppedByEachLimit) {
  const auto loops = [](int index, const std::string&, const std::string&) {
    return Json(Asks("policy", R"({\"of\":\"A-1\"})", "n" + std::to_string(index)));
  };
  FreeRunOptions options{.max_steps = 5};
  FreeReport report = RunOn(loops, ManyLookups(), options);
  EXPECT_EQ(report.runs[0].end, FreeEnd::kStepsSpent);
  EXPECT_EQ(report.runs[0].answered(), 5);
  EXPECT_EQ(server_->bodies().size(), 5u);
  options.max_steps = 100;
  report = RunOn(loops, ManyLookups(), options, {.max_requests = 7});
  EXPECT_EQ(report.runs[0].end, FreeEnd::kBudgetSpent);
  EXPECT_EQ(server_->bodies().size(), 7u);
  report = RunOn(loops, ManyLookups(), options, {.max_tokens = 36});
  EXPECT_EQ(report.runs[0].end, FreeEnd::kBudgetSpent);
  EXPECT_EQ(server_->bodies().size(), 3u);
  report = RunOn(loops, ManyLookups(), options);
  EXPECT_EQ(report.runs[0].end, FreeEnd::kToolUsedUp);
  EXPECT_EQ(report.runs[0].answered(), 52);
}

TEST_F(FreeRunTest, AProviderThatBreaksDecidesNothing) {
  const auto breaks = [](int index, const std::string&, const std::string&) {
    if (index == 0) return Json(Asks("lookup", R"({\"order\":\"A-1\"})", "n0"));
    return Http("503 Service Unavailable", "Content-Type: text/plain\r\n", "no");
  };
  const FreeReport report = RunOn(breaks, Conversation(), {});
  EXPECT_EQ(report.verdict, RerunVerdict::kInconclusive);
  const FreeRun& run = report.runs[0];
  EXPECT_EQ(run.end, FreeEnd::kUnanswered);
  EXPECT_EQ(run.outcome, FreeOutcome::kUndecided);
  EXPECT_NE(report.inconclusive_because.find("server_error"), std::string::npos)
      << report.inconclusive_because;
}

TEST_F(FreeRunTest, AnswersOfACacheAreNoRuns) {
  const auto says = [](int index, const std::string&) { return AsRecorded(index % 3); };
  const FreeReport report = Run(says, {.rerun = {.count = 2}});
  EXPECT_EQ(report.Count(FreeOutcome::kSame), 1);
  EXPECT_EQ(report.runs[1].end, FreeEnd::kUnanswered);
  EXPECT_EQ(report.verdict, RerunVerdict::kInconclusive);
}

TEST_F(FreeRunTest, ARecordThatEndsWithAToolEndsThere) {
  schema::RecordedRun tape = Conversation();
  tape.events.pop_back();
  const auto says = [](int index, const std::string&, const std::string&) {
    return Json(AsRecorded(index));
  };
  const FreeReport report = RunOn(says, tape, {});
  EXPECT_EQ(report.verdict, RerunVerdict::kReproduced);
  EXPECT_EQ(report.runs[0].end, FreeEnd::kRecordEnds);
  EXPECT_EQ(server_->bodies().size(), 2u);
}

TEST(RecordedPathTest, FollowsTheLongestConversationAndNamesTheOthers) {
  schema::RecordedRun tape = Conversation();
  tape.events.insert(tape.events.begin(), RecordedChat(kRequest, Says("A greeting.", "x")));
  const auto path = RecordedPath::Of(tape, {});
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(path->calls(), (std::vector<size_t>{2, 4, 5}));
  EXPECT_EQ(path->others(), std::vector<size_t>{0});
  EXPECT_TRUE(path->is_whole());
  EXPECT_EQ(path->actions()[1], R"(calls refund {"amount":12})");
  const auto other = RecordedPath::Of(tape, 0);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->calls(), std::vector<size_t>{0});
  EXPECT_FALSE(RecordedPath::Of(tape, 1).ok()) << "a tool";
}

TEST(RecordedPathTest, ACallThatWasTriedAgainCountsOnce) {
  schema::RecordedRun tape = Conversation();
  schema::Event failed = tape.events[1];
  failed.response.bytes.clear();
  failed.end_state = schema::EndState::kReset;
  tape.events.insert(tape.events.begin() + 1, failed);
  const auto path = RecordedPath::Of(tape, {});
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(path->calls(), (std::vector<size_t>{2, 4, 5}));
  EXPECT_TRUE(path->others().empty());
}

}  // namespace
}  // namespace reenact::rerun
