// A model whose margins a setting moves, by hand: which answers the search reaches, and what it
// leaves alone.

#include "replayer/explain/envelope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace reenact::explain {
namespace {

using local_engine::StockSchedule;
using local_engine::StockSettings;

constexpr int32_t kPrompt = 4;

// The settings under which a position was computed.
StockSettings At(const StockSchedule& schedule, int32_t position) {
  for (const local_engine::StockStep& step : schedule) {
    if (position >= step.first_position && position < step.first_position + step.position_count) {
      return step.settings;
    }
  }
  ADD_FAILURE() << "no step computes position " << position;
  return {};
}

// Token k is 2k, or 2k + 1 where the settings of the position before it say so. Near-ties stand at
// tokens 1 and 3; token 2 is far from one.
absl::StatusOr<ScheduledAnswer> AnswerOf(const StockSchedule& schedule) {
  ScheduledAnswer answer;
  for (int32_t k = 0; k < 4; ++k) {
    const StockSettings settings = At(schedule, kPrompt - 1 + k);
    const double noise = settings.split_k * 0.01;
    const bool turned = (k == 1 && settings.split_k == 2) || (k == 3 && settings.split_k == 4);
    answer.tokens.push_back(2 * k + (turned ? 1 : 0));
    answer.margins.push_back((k % 2 == 1 ? 0.005 : 3.0) + noise);
  }
  answer.text = std::to_string(answer.tokens[1]) + "," + std::to_string(answer.tokens[3]);
  return answer;
}

std::vector<NamedSettings> ThreeSettings() {
  return {{"one", {.step_rows = 16, .split_k = 1}},
          {"two", {.step_rows = 8, .split_k = 2}},
          {"four", {.step_rows = 1, .split_k = 4}}};
}

EnvelopeOptions Options() {
  return {.prompt_tokens = kPrompt, .max_tokens = 4};
}

std::set<std::string> Texts(const Envelope& envelope) {
  std::set<std::string> texts;
  for (const ReachedAnswer& reached : envelope.answers) texts.insert(reached.answer.text);
  return texts;
}

TEST(Envelope, ReachesWhatOnlyASettingThatChangesOnTheWayReaches) {
  const auto envelope = FindEnvelope(ThreeSettings(), Options(), AnswerOf);
  ASSERT_TRUE(envelope.ok());
  // "3,7" needs setting two at token 1 and setting four at token 3.
  EXPECT_EQ(Texts(*envelope), (std::set<std::string>{"2,6", "3,6", "2,7", "3,7"}));
  EXPECT_NEAR(envelope->noise_nats, 0.03, 1e-12);
  EXPECT_EQ(envelope->not_visited, 0);
  for (const ReachedAnswer& reached : envelope->answers) {
    EXPECT_EQ(AnswerOf(reached.schedule)->tokens, reached.answer.tokens);
    EXPECT_TRUE(local_engine::CheckStockSchedule(reached.schedule).ok());
  }
  EXPECT_EQ(envelope->answers[0].settings, std::vector<std::string>{"one"});
  EXPECT_EQ(envelope->answers[1].leaves_at, 1);
  EXPECT_NEAR(*envelope->answers[1].margin_nats, 0.015, 1e-12);
}

TEST(Envelope, ABudgetLeavesBranchesAndSaysHowMany) {
  EnvelopeOptions options = Options();
  options.max_runs = 4;
  const auto some = FindEnvelope(ThreeSettings(), options, AnswerOf);
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some->runs, 4);
  EXPECT_GT(some->not_visited, 0);
  options.max_runs = 2;
  options.noise_nats = 0.1;
  // A setting that was never tried, and three settings at each of three near-ties.
  EXPECT_EQ(FindEnvelope(ThreeSettings(), options, AnswerOf)->not_visited, 1 + 3 * 3);
}

TEST(Envelope, BranchesNowhereAboveTheNoise) {
  EnvelopeOptions options = Options();
  options.noise_nats = 0.001;
  const auto envelope = FindEnvelope(ThreeSettings(), options, AnswerOf);
  ASSERT_TRUE(envelope.ok());
  EXPECT_EQ(envelope->runs, 3);
  EXPECT_EQ(envelope->near_ties, 0);
  EXPECT_EQ(Texts(*envelope), (std::set<std::string>{"2,6", "3,6", "2,7"}));
  options.noise_nats.reset();
  options.branches = false;
  EXPECT_EQ(FindEnvelope(ThreeSettings(), options, AnswerOf)->runs, 3);
}

TEST(Envelope, AnErrorOfTheModelIsTheResult) {
  const auto failing = [](const StockSchedule&) -> absl::StatusOr<ScheduledAnswer> {
    return absl::ResourceExhaustedError("no pages");
  };
  EXPECT_TRUE(
      absl::IsResourceExhausted(FindEnvelope(ThreeSettings(), Options(), failing).status()));
}

TEST(Envelope, LoadsBringAboutEachSettingOnce) {
  const std::vector<NamedSettings> settings = SettingsOfLoads({0, 32});
  std::set<std::string> names;
  std::set<int32_t> splits, norms, kv;
  for (const NamedSettings& one : settings) {
    names.insert(one.name);
    splits.insert(one.settings.split_k);
    norms.insert(one.settings.norm_block);
    kv.insert(one.settings.kv_splits);
  }
  EXPECT_EQ(names.size(), settings.size());
  EXPECT_EQ(splits, (std::set<int32_t>{1, 2, 4}));
  EXPECT_EQ(norms, (std::set<int32_t>{32, 256}));
  EXPECT_EQ(kv, (std::set<int32_t>{1, 2, 4}));
  EXPECT_EQ(settings.size() % 2, 0u);
  EXPECT_EQ(settings.front().name, "1 row, 1 sequence");
}

}  // namespace
}  // namespace reenact::explain
