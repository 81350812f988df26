// What the size of the batch does to the decisive call, on our own engine's profile "stock": the
// call alone, then as it would be computed among others, everything else equal. It tells where the
// batch flips a near-tie; that the batch was so is for the recorded schedule to prove.

#ifndef REENACT_REPLAYER_EXPLAIN_LOAD_TRIALS_H_
#define REENACT_REPLAYER_EXPLAIN_LOAD_TRIALS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/engine/stock_schedule.h"
#include "replayer/explain/envelope.h"
#include "replayer/explain/experiment.h"

namespace reenact::explain {

// Batch sizes between which no sum of the engine differs, and what the call does in them.
struct BatchTrial {
  int32_t least = 1;
  std::optional<int32_t> most;  // Nothing: and more.
  bool prompt_too = false;  // The prompt was computed in the batch as well, not the answer alone.
  Outcome outcome = Outcome::kOther;
};

struct LoadTrials {
  bool same_engine = false;         // As the incident's fingerprint tells.
  std::string fingerprint;          // Of the engine that tried.
  std::vector<BatchTrial> batches;  // The first: alone.
  // Where the first batch that does as the incident did leaves the answer alone, and how close that
  // one was there.
  std::optional<int64_t> token_index;
  std::optional<double> margin_nats;
  double noise_nats = 0;  // The most that a batch moved a margin before answers part.
  // What the incident's own schedule gives; nothing: its record tells none.
  std::optional<Outcome> recorded_schedule;
  std::optional<int32_t> recorded_rows;  // Of that schedule's step, where the token was picked.

  // The first batch that does as the incident did; null: none.
  const BatchTrial* Flipping() const;
  // Alone it is as the reference was, a batch makes it the incident, and nothing contradicts: it is
  // the incident's engine, and the recorded schedule gives the incident where there is one.
  bool explains() const;
  bool is_near_tie() const;  // Alone, where the batch turns it.
};

struct LoadTrialOptions {
  int32_t prompt_tokens = 1;
  int32_t cached_tokens = 0;  // Of the prompt, as the record has it.
  int32_t max_tokens = 1;
  std::optional<local_engine::StockSchedule> recorded;
};

using ScheduledJudge = std::function<absl::StatusOr<Outcome>(const ScheduledAnswer& answer)>;

// Errors: those of `model` and `judge`.
absl::StatusOr<LoadTrials> TryLoads(const LoadTrialOptions& options, const ScheduledModel& model,
                                    const ScheduledJudge& judge);

// "batch of 1 to 2", "batch of 16 and more, prompt too"
std::string NameOf(const BatchTrial& trial);

// Sentences, for a reader.
std::vector<std::string> SentencesOf(const LoadTrials& trials);

}  // namespace reenact::explain

#endif  // REENACT_REPLAYER_EXPLAIN_LOAD_TRIALS_H_
