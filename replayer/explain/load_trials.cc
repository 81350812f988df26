#include "replayer/explain/load_trials.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "schema/logprob.h"

namespace reenact::explain {
namespace {

using local_engine::StockSchedule;
using local_engine::StockSettings;

// What one GPU's engines take at once; beyond it no setting of ours changes.
constexpr int32_t kLargestBatch = 256;

std::string NatsOf(double nats) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", nats);
  return text;
}

std::string_view WhoseOutcome(Outcome outcome) {
  switch (outcome) {
    case Outcome::kIncident:
      return "the incident's outcome";
    case Outcome::kReference:
      return "the reference's outcome";
    case Outcome::kOther:
      break;
  }
  return "another outcome";
}

bool SameSums(const StockSettings& a, const StockSettings& b) {
  return a.split_k == b.split_k && a.norm_block == b.norm_block && a.kv_splits == b.kv_splits;
}

class LoadBench {
 public:
  LoadBench(const LoadTrialOptions& options, const ScheduledModel& model,
            const ScheduledJudge& judge)
      : options_(options),
        model_(model),
        judge_(judge),
        cached_(std::clamp(options.cached_tokens, 0, options.prompt_tokens - 1)) {}

  absl::StatusOr<LoadTrials> Run() {
    const std::vector<BatchTrial> batches = Batches();
    for (const bool prompt_too : {false, true}) {
      for (const BatchTrial& batch : batches) {
        if (prompt_too && batch.least == 1) continue;
        BatchTrial trial = batch;
        trial.prompt_too = prompt_too;
        if (absl::Status tried = Try(std::move(trial)); !tried.ok()) return tried;
      }
    }
    if (absl::Status tried = TryRecorded(); !tried.ok()) return tried;
    return std::move(result_);
  }

 private:
  StockSettings SettingsOf(int32_t rows, int32_t sequences, int32_t cached) const {
    return local_engine::ChooseStockSettings(
        {.step_rows = rows, .step_sequences = sequences, .cached_keys = cached});
  }

  // Sizes in which a decoding step's sums are equal, together.
  std::vector<BatchTrial> Batches() const {
    std::vector<BatchTrial> batches;
    StockSettings last;
    for (int32_t size = 1; size <= kLargestBatch; ++size) {
      const StockSettings settings = SettingsOf(size, size, cached_);
      if (!batches.empty() && SameSums(last, settings)) {
        batches.back().most = size;
        continue;
      }
      last = settings;
      BatchTrial batch;
      batch.least = size;
      batch.most = size;
      batches.push_back(batch);
    }
    batches.back().most.reset();
    return batches;
  }

  StockSchedule ScheduleOf(const BatchTrial& trial) const {
    const int32_t beside = trial.prompt_too ? trial.least - 1 : 0;
    StockSchedule schedule;
    // Whoever computed the cached part had no more of the prompt cached.
    if (cached_ > 0) {
      local_engine::AppendToSchedule({0, cached_, SettingsOf(cached_, 1, 0)}, &schedule);
    }
    const int32_t rest = options_.prompt_tokens - cached_;
    local_engine::AppendToSchedule({cached_, rest, SettingsOf(rest + beside, 1 + beside, cached_)},
                                   &schedule);
    local_engine::AppendToSchedule({options_.prompt_tokens, options_.max_tokens,
                                    SettingsOf(trial.least, trial.least, cached_)},
                                   &schedule);
    return schedule;
  }

  absl::Status Try(BatchTrial trial) {
    absl::StatusOr<ScheduledAnswer> answer = model_(ScheduleOf(trial));
    if (!answer.ok()) return answer.status();
    const absl::StatusOr<Outcome> outcome = judge_(*answer);
    if (!outcome.ok()) return outcome.status();
    trial.outcome = *outcome;
    Compare(*answer, trial.outcome);
    if (result_.batches.empty()) alone_ = *std::move(answer);
    result_.batches.push_back(trial);
    return absl::OkStatus();
  }

  // With the answer alone: where they part, and how far margins moved before.
  void Compare(const ScheduledAnswer& answer, Outcome outcome) {
    if (result_.batches.empty()) return;
    const auto parting = std::mismatch(alone_.tokens.begin(), alone_.tokens.end(),
                                       answer.tokens.begin(), answer.tokens.end());
    const auto common = static_cast<size_t>(parting.first - alone_.tokens.begin());
    for (size_t i = 0; i < std::min({common, alone_.margins.size(), answer.margins.size()}); ++i) {
      const double moved = std::fabs(alone_.margins[i] - answer.margins[i]);
      if (std::isfinite(moved)) result_.noise_nats = std::max(result_.noise_nats, moved);
    }
    if (outcome != Outcome::kIncident || result_.token_index) return;
    result_.token_index = static_cast<int64_t>(common);
    if (common < alone_.margins.size()) result_.margin_nats = alone_.margins[common];
  }

  absl::Status TryRecorded() {
    if (!options_.recorded) return absl::OkStatus();
    const absl::StatusOr<ScheduledAnswer> answer = model_(*options_.recorded);
    if (!answer.ok()) return answer.status();
    const absl::StatusOr<Outcome> outcome = judge_(*answer);
    if (!outcome.ok()) return outcome.status();
    result_.recorded_schedule = *outcome;
    if (!result_.token_index) return absl::OkStatus();
    const int64_t position = options_.prompt_tokens - 1 + *result_.token_index;
    for (const local_engine::StockStep& step : *options_.recorded) {
      const bool holds = step.first_position <= position &&
                         position < step.first_position + int64_t{step.position_count};
      if (holds) result_.recorded_rows = step.settings.step_rows;
    }
    return absl::OkStatus();
  }

  const LoadTrialOptions& options_;
  const ScheduledModel& model_;
  const ScheduledJudge& judge_;
  const int32_t cached_;
  ScheduledAnswer alone_;
  LoadTrials result_;
};

}  // namespace

const BatchTrial* LoadTrials::Flipping() const {
  for (const BatchTrial& trial : batches) {
    if (trial.outcome == Outcome::kIncident) return &trial;
  }
  return nullptr;
}

bool LoadTrials::explains() const {
  const bool turned = !batches.empty() && batches.front().outcome == Outcome::kReference &&
                      Flipping() != nullptr && token_index.has_value();
  return turned && same_engine &&
         recorded_schedule.value_or(Outcome::kIncident) == Outcome::kIncident;
}

bool LoadTrials::is_near_tie() const {
  return margin_nats && std::fabs(*margin_nats) < schema::kNearTieNats;
}

absl::StatusOr<LoadTrials> TryLoads(const LoadTrialOptions& options, const ScheduledModel& model,
                                    const ScheduledJudge& judge) {
  return LoadBench(options, model, judge).Run();
}

std::string NameOf(const BatchTrial& trial) {
  if (trial.least == 1) return "alone";
  std::string name = "in a batch of " + std::to_string(trial.least);
  if (!trial.most) {
    name += " and more";
  } else if (*trial.most != trial.least) {
    name += " to " + std::to_string(*trial.most);
  }
  return name + (trial.prompt_too ? ", its prompt too" : "");
}

std::vector<std::string> SentencesOf(const LoadTrials& trials) {
  std::vector<std::string> sentences;
  for (const BatchTrial& trial : trials.batches) {
    sentences.push_back(NameOf(trial) + ": " + std::string(WhoseOutcome(trial.outcome)));
  }
  if (trials.token_index) {
    std::string text = "the batch turns token " + std::to_string(*trials.token_index);
    if (trials.margin_nats) {
      text += ", where the answer alone has a margin of " + NatsOf(*trials.margin_nats) +
              " nats; batches move margins by up to " + NatsOf(trials.noise_nats);
    }
    sentences.push_back(std::move(text));
  }
  if (trials.recorded_schedule) {
    std::string text = "the recorded schedule";
    if (trials.recorded_rows) {
      text += " (" + std::to_string(*trials.recorded_rows) + " rows where that token was picked)";
    }
    sentences.push_back(text + ": " + std::string(WhoseOutcome(*trials.recorded_schedule)));
  } else {
    sentences.push_back(
        "the record tells no schedule: in which batch it was computed is not proved");
  }
  if (!trials.same_engine) {
    sentences.push_back("tried on another engine than the incident's: " + trials.fingerprint);
  }
  return sentences;
}

}  // namespace reenact::explain
