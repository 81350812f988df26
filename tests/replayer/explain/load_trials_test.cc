// The batch that flips an answer, on a model whose margin follows a schedule's settings.

#include "replayer/explain/load_trials.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "local_engine/engine/stock_schedule.h"

namespace reenact::explain {
namespace {

using local_engine::StockSchedule;
using local_engine::StockSettings;

constexpr int32_t kPromptTokens = 40;
constexpr int32_t kTurningToken = 2;

StockSettings SettingsAt(const StockSchedule& schedule, int32_t position) {
  StockSettings found;
  for (const auto& step : schedule) {
    if (step.first_position <= position && position < step.first_position + step.position_count) {
      found = step.settings;
    }
  }
  return found;
}

// Token 2 is 7 where one part of the keys is summed, and 5 else: so with five sequences and more.
absl::StatusOr<ScheduledAnswer> TurningAnswer(const StockSchedule& schedule) {
  const StockSettings settings = SettingsAt(schedule, kPromptTokens - 1 + kTurningToken);
  const bool turned = settings.kv_splits == 1;
  ScheduledAnswer answer;
  answer.tokens = {1, 2, turned ? 7 : 5};
  answer.margins = {1.0, settings.split_k == 4 ? 0.5 : 0.52, 0.01};
  return answer;
}

absl::StatusOr<Outcome> Judged(const ScheduledAnswer& answer) {
  return answer.tokens.back() == 7 ? Outcome::kIncident : Outcome::kReference;
}

LoadTrialOptions LoadOptions() {
  return {.prompt_tokens = kPromptTokens, .cached_tokens = 32, .max_tokens = 3};
}

TEST(LoadTrials, NameTheBatchThatFlipsANearTie) {
  absl::StatusOr<LoadTrials> trials = TryLoads(LoadOptions(), TurningAnswer, Judged);
  ASSERT_TRUE(trials.ok()) << trials.status();
  ASSERT_NE(trials->Flipping(), nullptr);
  EXPECT_EQ(trials->batches.front().outcome, Outcome::kReference);
  EXPECT_EQ(NameOf(trials->batches.front()), "alone");
  EXPECT_EQ(NameOf(*trials->Flipping()), "in a batch of 5 to 8");
  EXPECT_EQ(trials->token_index, kTurningToken);
  EXPECT_EQ(trials->margin_nats, 0.01);
  EXPECT_NEAR(trials->noise_nats, 0.02, 1e-12);
  EXPECT_TRUE(trials->is_near_tie());
  // Another engine's batches are no proof.
  EXPECT_FALSE(trials->explains());
  trials->same_engine = true;
  EXPECT_TRUE(trials->explains());
}

TEST(LoadTrials, CallTheRecordedScheduleToWitness) {
  LoadTrialOptions options = LoadOptions();
  options.recorded = StockSchedule{
      {0, kPromptTokens, {.step_rows = 40}},
      {kPromptTokens, 3, {.step_rows = 6, .split_k = 2, .norm_block = 256, .kv_splits = 1}}};
  absl::StatusOr<LoadTrials> trials = TryLoads(options, TurningAnswer, Judged);
  ASSERT_TRUE(trials.ok()) << trials.status();
  trials->same_engine = true;
  EXPECT_EQ(trials->recorded_schedule, Outcome::kIncident);
  EXPECT_EQ(trials->recorded_rows, 6);
  EXPECT_TRUE(trials->explains());
  // A schedule of the incident that gives something else contradicts the explanation.
  (*options.recorded)[1].settings.kv_splits = 4;
  trials = TryLoads(options, TurningAnswer, Judged);
  ASSERT_TRUE(trials.ok()) << trials.status();
  trials->same_engine = true;
  EXPECT_EQ(trials->recorded_schedule, Outcome::kReference);
  EXPECT_FALSE(trials->explains());
}

TEST(LoadTrials, ExplainNothingWhereNoBatchFlips) {
  const ScheduledModel steady = [](const StockSchedule&) -> absl::StatusOr<ScheduledAnswer> {
    ScheduledAnswer answer;
    answer.tokens = {1, 2, 5};
    answer.margins = {1, 1, 1};
    return answer;
  };
  absl::StatusOr<LoadTrials> trials = TryLoads(LoadOptions(), steady, Judged);
  ASSERT_TRUE(trials.ok()) << trials.status();
  trials->same_engine = true;
  EXPECT_EQ(trials->Flipping(), nullptr);
  EXPECT_FALSE(trials->explains());
  EXPECT_GE(trials->batches.size(), 5u);
}

TEST(LoadTrials, ComputeTheSchedulesThatTheyName) {
  std::vector<StockSchedule> asked;
  const ScheduledModel model = [&](const StockSchedule& schedule) {
    asked.push_back(schedule);
    return TurningAnswer(schedule);
  };
  ASSERT_TRUE(TryLoads(LoadOptions(), model, Judged).ok());
  for (const StockSchedule& schedule : asked) {
    EXPECT_TRUE(local_engine::CheckStockSchedule(schedule).ok());
    EXPECT_EQ(schedule.back().first_position + schedule.back().position_count, kPromptTokens + 3);
  }
  // Alone, as a scheduler with nothing else to do: the rest of the prompt, then a row at a time.
  EXPECT_EQ(SettingsAt(asked.front(), 35).cached_keys, 32);
  EXPECT_EQ(SettingsAt(asked.front(), kPromptTokens).step_rows, 1);
}

TEST(LoadTrials, PassOnWhatTheModelFailsOf) {
  const ScheduledModel broken = [](const StockSchedule&) -> absl::StatusOr<ScheduledAnswer> {
    return absl::ResourceExhaustedError("no pages are left");
  };
  EXPECT_EQ(TryLoads(LoadOptions(), broken, Judged).status().message(), "no pages are left");
}

}  // namespace
}  // namespace reenact::explain
