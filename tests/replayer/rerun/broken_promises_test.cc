// Targets that lie: each lie has a name, and an honest target has none.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "replayer/rerun/http_target.h"
#include "replayer/rerun/repeated_asking.h"
#include "tests/replayer/rerun/scripted_server.h"

namespace reenact::rerun {
namespace {

constexpr const char* kDrawn =
    R"({"model":"m-1","messages":[],"temperature":0.8,"seed":7,"logprobs":true,"top_logprobs":2})";

// The names of what a server breaks that gives these answers in turn.
std::vector<std::string> Broken(const std::string& request, std::vector<ChatAnswer> answers) {
  ScriptedServer server([&](int index, const std::string&, const std::string&) {
    const ChatAnswer& answer = answers[static_cast<size_t>(index) % answers.size()];
    const std::string id = answer.id.empty() ? "c-" + std::to_string(index) : answer.id;
    return Http("200 OK", "Content-Type: application/json\r\n", ChatBody(answer, id));
  });
  Ledger ledger;
  auto target = MakeHttpTarget({.base_url = server.url()}, &ledger);
  EXPECT_TRUE(target.ok());
  const Question question = QuestionOf(RecordedChat(request, ""), {});
  const std::vector<Sample> samples = AskRepeatedly(target->get(), question, {.count = 6});
  std::vector<std::string> names;
  for (const BrokenPromise& broken : FindBrokenPromises(question, samples)) {
    names.push_back(broken.name);
  }
  return names;
}

const ChatAnswer kYes{.tokens = {{"yes", -0.1}}, .fingerprint = "fp_1"};
const ChatAnswer kNo{.tokens = {{"no", -0.1}}, .fingerprint = "fp_2"};

TEST(BrokenPromises, AnHonestTargetBreaksNone) {
  EXPECT_EQ(Broken(kDrawn, {kYes}), std::vector<std::string>{});
}

TEST(BrokenPromises, ASeedThatIsIgnored) {
  EXPECT_EQ(Broken(kDrawn, {kYes, kNo}), std::vector<std::string>{"seed_ignored"});
}

TEST(BrokenPromises, ASeedSaysNothingAtTemperatureZero) {
  const std::string greedy = R"({"model":"m-1","messages":[],"temperature":0,"seed":7})";
  EXPECT_EQ(Broken(greedy, {kYes, kNo}), std::vector<std::string>{});
}

TEST(BrokenPromises, AFingerprintThatNeverChanges) {
  ChatAnswer no = kNo;
  no.fingerprint = "fp_1";
  const std::string unseeded = R"({"model":"m-1","messages":[],"temperature":0})";
  EXPECT_EQ(Broken(unseeded, {kYes, no}), std::vector<std::string>{"fingerprint_constant"});
}

TEST(BrokenPromises, LogprobsThatAreMissingOrImpossible) {
  ChatAnswer without = kYes;
  without.logprobs = false;
  EXPECT_EQ(Broken(kDrawn, {kYes, without}), std::vector<std::string>{"logprobs_missing"});
  ChatAnswer above = kYes;
  above.tokens[0].logprob = 0.5;
  EXPECT_EQ(Broken(kDrawn, {above}), std::vector<std::string>{"logprobs_impossible"});
}

TEST(BrokenPromises, ACacheIsNoModel) {
  ChatAnswer cached = kYes;
  cached.id = "c-always";
  EXPECT_EQ(Broken(kDrawn, {cached}), std::vector<std::string>{"answers_repeated"});
}

}  // namespace
}  // namespace reenact::rerun
