// What two records differ in, and where what they did parts.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "replayer/explain/decision.h"
#include "replayer/explain/request_parts.h"
#include "replayer/explain/variable.h"
#include "replayer/rerun/action.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::explain {
namespace {

using replayer::TapeBuilder;
using schema::Boundary;

std::string Answer(const std::string& message, const std::string& more = "") {
  return R"({"id":"x","object":"chat.completion","model":"m-1","choices":[{"index":0,)" + more +
         R"("finish_reason":"stop","message":{"role":"assistant",)" + message +
         R"(}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}})";
}

std::string Calls(const std::string& arguments) {
  return Answer(R"("tool_calls":[{"id":"c1","type":"function","function":{"name":"refund",)"
                R"("arguments":")" +
                arguments + R"("}}])");
}

std::string Ask(const std::string& order, const std::string& settings = "") {
  return R"({"model":"m",)" + settings +
         R"("messages":[{"role":"system","content":"s"},)"
         R"({"role":"user","content":")" +
         order + R"("}]})";
}

// A run that reads a clock, looks an order up and asks; each value may be another one.
struct Spec {
  uint64_t clock = 5;
  std::string order = "120";
  std::string prompt = "v14";
  std::string settings;
  std::string answer = Calls("{}");
};

schema::RecordedRun RunOf(const Spec& spec) {
  TapeBuilder tape;
  tape.run().components.push_back(
      {.kind = "prompt_template", .name = "refund", .version = spec.prompt});
  tape.Read(Boundary::kClock, "today", spec.clock);
  tape.Tool("lookup", R"({"order":"A-17"})", spec.order);
  tape.Model(Ask(spec.order, spec.settings), spec.answer);
  tape.Read(Boundary::kClock, "later", spec.clock + 1);
  return tape.run();
}

std::vector<std::string> Names(const Spec& a, const Spec& b, bool parts = false) {
  const schema::RecordedRun incident = RunOf(a);
  const schema::RecordedRun reference = RunOf(b);
  std::vector<std::string> names;
  for (const Variable& variable : DifferencesOf(incident, reference, {2, 2, 0}, parts)) {
    EXPECT_EQ(variable.changed, Changed::kProved);
    EXPECT_NE(variable.incident, variable.reference);
    names.push_back(NameOf(variable));
  }
  return names;
}

TEST(Differences, NameWhatChangedBeforeTheDecisionAndNothingElse) {
  EXPECT_TRUE(Names({}, {}).empty());
  EXPECT_EQ(Names({}, {.clock = 6}), std::vector<std::string>{"clock today"});
  EXPECT_EQ(Names({}, {.order = "12"}), std::vector<std::string>{"tool answer lookup"});
  EXPECT_EQ(Names({}, {.prompt = "v15"}),
            std::vector<std::string>{"component prompt_template refund"});
  EXPECT_EQ(Names({.settings = R"("seed":1,"temperature":0,)"},
                  {.settings = R"("seed":2,"temperature":1,"user":"u",)"}),
            (std::vector<std::string>{"request setting temperature", "sampling seed"}));
  EXPECT_EQ(Names({}, {.order = "12"}, true),
            (std::vector<std::string>{"tool answer lookup", "request part messages[1]"}));
}

TEST(Differences, AnAliasThatMovedAndABackendThatChangedAreTold) {
  schema::RecordedRun a = RunOf({});
  schema::RecordedRun b = RunOf({});
  const auto serve = [](schema::RecordedRun* run, const std::string& from, const std::string& to) {
    std::string& body = run->events[2].response.bytes;
    body.replace(body.find(from), from.size(), to);
    run->events[2].exchange.back().size = body.size();
  };
  serve(&b, R"("model":"m-1")", R"("model":"m-2")");
  std::vector<Variable> found = DifferencesOf(a, b, {2, 2, 0}, false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], (Variable{VariableKind::kServedModel, "", "m-1", "m-2"}));
  serve(&a, R"("model":"m-1")", R"("model":"m-2","system_fingerprint":"fp_1")");
  found = DifferencesOf(a, b, {2, 2, 0}, false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, VariableKind::kBackend);
  EXPECT_EQ(found[0].changed, Changed::kPossible) << "one side does not tell";
  serve(&b, R"("model":"m-2")", R"("model":"m-2","system_fingerprint":"fp_2")");
  EXPECT_EQ(DifferencesOf(a, b, {2, 2, 0}, false)[0].changed, Changed::kProved);
}

TEST(Decision, ActionsAreToolsWithCanonicalArgumentsOrTheAnswer) {
  const schema::RecordedRun spaced = RunOf({.answer = Calls(R"({ \"b\":1.0, \"a\":2})")});
  const schema::RecordedRun sorted = RunOf({.answer = Calls(R"({\"a\":2,\"b\":1})")});
  EXPECT_FALSE(FindDecisiveCalls(spaced, sorted));
  EXPECT_EQ(rerun::ActionOf(schema::ViewModelCall(sorted.events[2])),
            R"(calls refund {"a":2,"b":1})");
  const schema::RecordedRun text = RunOf({.answer = Answer(R"("content":"No.")")});
  EXPECT_EQ(rerun::ActionOf(schema::ViewModelCall(text.events[2])), "answers No.");
  const auto calls = FindDecisiveCalls(sorted, text);
  ASSERT_TRUE(calls);
  EXPECT_EQ(calls->incident, 2u);
  EXPECT_EQ(calls->ordinal, 0u);
}

TEST(Decision, TheRecordTellsTheMarginWhereTwoAnswersToOneRequestPart) {
  const auto logprobs = [](const std::string& chosen, const std::string& other) {
    return R"("logprobs":{"content":[{"token":")" + chosen +
           R"(","logprob":-0.68,"top_logprobs":[)" + R"({"token":")" + chosen +
           R"(","logprob":-0.68},{"token":")" + other + R"(","logprob":-0.70}]}]},)";
  };
  const std::string zero = R"("temperature":0,)";
  const schema::RecordedRun a =
      RunOf({.settings = zero, .answer = Answer(R"("content":"9")", logprobs("9", "2"))});
  const schema::RecordedRun b =
      RunOf({.settings = zero, .answer = Answer(R"("content":"2")", logprobs("2", "9"))});
  const RecordEvidence evidence = EvidenceOf(a.events[2], b.events[2]);
  EXPECT_TRUE(evidence.same_request);
  EXPECT_FALSE(evidence.draws);
  EXPECT_TRUE(evidence.near_tie());
  EXPECT_EQ(evidence.token_index, 0);
  ASSERT_TRUE(evidence.margin_nats);
  EXPECT_NEAR(*evidence.margin_nats, 0.02, 1e-9);
  EXPECT_TRUE(EvidenceOf(RunOf({}).events[2], RunOf({}).events[2]).draws);
  EXPECT_FALSE(EvidenceOf(a.events[2], RunOf({}).events[2]).same_request);
}

TEST(RequestParts, OnePartIsTakenAndAllOtherBytesStay) {
  const std::string a =
      R"({"model": "m", "seed":1, "messages":[{"content":"x"}, {"content":"y"}]})";
  const std::string b = R"({"messages":[{"content":"x"},{"content":"z"}],"model":"m","top_p":0.5})";
  const std::vector<PartDifference> parts = DifferingParts(a, b);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].name, "messages[1]");
  EXPECT_FALSE(parts[0].is_setting);
  EXPECT_EQ(parts[1].name, "seed");
  EXPECT_EQ(parts[2].name, "top_p");
  EXPECT_EQ(WithPart(a, b, "messages[1]"),
            R"({"model": "m", "seed":1, "messages":[{"content":"x"}, {"content":"z"}]})");
  EXPECT_EQ(WithPart(a, b, "seed"),
            R"({"model": "m", "seed":null, "messages":[{"content":"x"}, {"content":"y"}]})");
  EXPECT_FALSE(WithPart(a, b, "messages[2]"));
  EXPECT_TRUE(DifferingParts(a, "[]").empty());
}

}  // namespace
}  // namespace reenact::explain
