// Diagnoses of targets that are made for them: one that is steady, one that drifts under load, one
// with a cold cache, one that is mostly silent.

#include "replayer/rerun/diagnosis.h"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/replayer/rerun/scripted_server.h"

namespace reenact::rerun {
namespace {

// Answers by what `choose` says of the question's number; knows nothing of HTTP.
class MadeTarget : public Target {
 public:
  explicit MadeTarget(std::function<Sample(int number)> answer) : answer_(std::move(answer)) {}

  std::string Name() const override { return "made"; }

  Abilities abilities() const override { return abilities_; }

  Sample Ask(const Question&) override { return answer_(number_++); }

  Abilities abilities_;

 private:
  const std::function<Sample(int)> answer_;
  std::atomic<int> number_{0};
};

Sample Say(const std::string& word, int number, double other_logprob = -3) {
  const ChatAnswer answer{
      .tokens = {{"so ", -0.1}, {word, -0.7, word == "yes" ? "no" : "yes", other_logprob}},
      .fingerprint = "fp_1"};
  Sample sample;
  sample.event = RecordedChat(kRequest, ChatBody(answer, "c-" + std::to_string(number)));
  ReadAnswer(&sample);
  return sample;
}

std::vector<Prompt> OnePrompt() {
  return {{"short", RecordedChat(kRequest, "")}};
}

// Alone the first `repeats` questions, under load the next.
constexpr int kRepeats = 12;
const DiagnosisOptions kOptions{.repeats = kRepeats, .loads = {4}, .lengths = {8}};

bool Broke(const Diagnosis& diagnosis, const std::string& name) {
  for (const BrokenPromise& broken : diagnosis.broken_promises) {
    if (broken.name == name) return true;
  }
  return false;
}

TEST(Diagnosis, ASteadyTargetIsDeterministicAndSaysHowFarThatGoes) {
  MadeTarget target([](int number) { return Say("yes", number); });
  const Diagnosis diagnosis = Diagnose(OnePrompt(), &target, kOptions);
  EXPECT_TRUE(diagnosis.enough);
  EXPECT_TRUE(diagnosis.deterministic());
  EXPECT_EQ(diagnosis.alone.raw.value(), 1);
  EXPECT_EQ(diagnosis.load.loaded, kRepeats);
  EXPECT_FALSE(diagnosis.load.depends);
  EXPECT_EQ(diagnosis.survival().events, 0);
  EXPECT_FALSE(diagnosis.survival().hazard_upper95.value() == 0) << "a bound, and not zero";
  // 1 - 0.05^(1/12): what twelve equal answers leave open.
  EXPECT_NE(DiagnosisSentence(diagnosis).find("22.1 %"), std::string::npos)
      << DiagnosisSentence(diagnosis);
}

TEST(Diagnosis, LoadIsNamedOnlyWhereAnswersFollowIt) {
  MadeTarget follows(
      [](int number) { return Say(number < kRepeats || number % 3 == 0 ? "yes" : "no", number); });
  const Diagnosis loaded = Diagnose(OnePrompt(), &follows, kOptions);
  EXPECT_TRUE(loaded.load.depends);
  EXPECT_EQ(loaded.load.alone_unlike, 0);
  EXPECT_EQ(loaded.load.loaded_unlike, 8);
  EXPECT_EQ(loaded.cells[1].first_divergence.value(), 1);
  // The same share alone and under load: noise, and load is not accused.
  MadeTarget noisy([](int number) { return Say(number % 3 == 0 ? "no" : "yes", number); });
  const Diagnosis noise = Diagnose(OnePrompt(), &noisy, kOptions);
  EXPECT_FALSE(noise.load.depends);
  EXPECT_FALSE(noise.deterministic());
  EXPECT_NE(DiagnosisSentence(noise).find("load was not shown to be the reason"),
            std::string::npos);
}

TEST(Diagnosis, NearTiesAreCountedAmongKnownMargins) {
  MadeTarget close([](int number) { return Say(number % 2 == 0 ? "yes" : "no", number, -0.72); });
  const Diagnosis near = Diagnose(OnePrompt(), &close, kOptions);
  EXPECT_GT(near.partings, 0);
  EXPECT_EQ(near.near_ties, near.partings);
  MadeTarget far([](int number) { return Say(number % 2 == 0 ? "yes" : "no", number, -3); });
  const Diagnosis wide = Diagnose(OnePrompt(), &far, kOptions);
  EXPECT_EQ(wide.margins_known, wide.partings);
  EXPECT_EQ(wide.near_ties, 0);
  EXPECT_TRUE(Broke(wide, "fingerprint_constant"));
}

TEST(Diagnosis, AColdCacheShowsAsXYY) {
  MadeTarget target([](int number) { return Say(number == 0 ? "no" : "yes", number); });
  const Diagnosis diagnosis =
      Diagnose(OnePrompt(), &target, {.repeats = kRepeats, .loads = {}, .lengths = {8}});
  EXPECT_EQ(diagnosis.cache.questions, 1);
  EXPECT_EQ(diagnosis.cache.cold_first, 1);
  EXPECT_NE(DiagnosisSentence(diagnosis).find("a cache"), std::string::npos);
}

TEST(Diagnosis, FewerThanFiveAnswersAreNone) {
  MadeTarget target([](int number) {
    if (number < 4) return Say("yes", number);
    Sample silent;
    silent.status = SampleStatus::kRateLimited;
    silent.detail = "HTTP 429";
    return silent;
  });
  const Diagnosis diagnosis = Diagnose(OnePrompt(), &target, kOptions);
  EXPECT_FALSE(diagnosis.enough);
  EXPECT_NE(diagnosis.not_enough_because.find("rate_limited (HTTP 429)"), std::string::npos);
  EXPECT_EQ(diagnosis.failures.at("rate_limited"), 2 * kRepeats - 4);
  EXPECT_EQ(Recommend(diagnosis).size(), 1u) << "nothing is recommended on nothing";
}

TEST(Diagnosis, WhoeverTellsNothingIsBlind) {
  MadeTarget target([](int number) { return Say("yes", number); });
  EXPECT_TRUE(Diagnose(OnePrompt(), &target, kOptions).provider_blind);
  target.abilities_.fingerprint = Ability::kShown;
  EXPECT_FALSE(Diagnose(OnePrompt(), &target, kOptions).provider_blind);
}

TEST(Diagnosis, OwnPromptsAreGreedyAndNameTheModel) {
  const std::vector<Prompt> prompts = OwnPrompts(schema::ModelDialect::kOpenAiChat, "a\"b");
  ASSERT_EQ(prompts.size(), 2u);
  const std::string& request = prompts[0].call.request.bytes;
  EXPECT_NE(request.find(R"("model":"a\"b")"), std::string::npos) << request;
  EXPECT_NE(request.find(R"("temperature":0)"), std::string::npos);
  EXPECT_GT(prompts[1].call.request.bytes.size(), 4 * request.size());
  const auto messages = OwnPrompts(schema::ModelDialect::kAnthropicMessages, "m");
  EXPECT_EQ(messages[0].call.request.bytes.find("temperature"), std::string::npos);
}

}  // namespace
}  // namespace reenact::rerun
