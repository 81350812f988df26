// Which answers other load reaches: a request on the local engine's profile "stock", whose sums
// follow a schedule that somebody gives. Schedules of one setting throughout come first; they also
// measure how far a setting moves a margin. Then the setting is changed on the way, at those tokens
// alone whose margin is below that noise: nothing else could turn there.
//
// What it reaches is possible, and no more: that load was so is for a record to say.

#ifndef REENACT_REPLAYER_EXPLAIN_ENVELOPE_H_
#define REENACT_REPLAYER_EXPLAIN_ENVELOPE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/engine/stock_schedule.h"

namespace reenact::explain {

struct ScheduledAnswer {
  std::vector<int32_t> tokens;
  // Of each token: its logprob minus that of the best other one, nats.
  std::vector<double> margins;
  std::string text;
  bool is_known = false;  // From an earlier search: it costs no run.
};

// Computes the request by a schedule. What it returns is a function of the schedule.
using ScheduledModel =
    std::function<absl::StatusOr<ScheduledAnswer>(const local_engine::StockSchedule& schedule)>;

struct NamedSettings {
  std::string name;  // "rows 16, 8 sequences"
  local_engine::StockSettings settings;
};

// The settings that a load of 1 to 256 rows can bring about, alone and beside others, and with the
// given numbers of the prompt's keys from the prefix cache. Equal ones once.
std::vector<NamedSettings> SettingsOfLoads(const std::vector<int32_t>& cached_keys);

struct EnvelopeOptions {
  int32_t prompt_tokens = 1;
  int32_t max_tokens = 1;  // Of the answer.
  int64_t max_runs = 200;  // Those that are known are not counted.
  // Margins below which it branches; absent: as measured.
  std::optional<double> noise_nats;
  bool branches = true;  // False for an answer that is drawn: its margins decide nothing alone.
  std::function<bool()> interrupted;
};

struct ReachedAnswer {
  ScheduledAnswer answer;
  std::vector<std::string> settings;     // That reach it throughout.
  local_engine::StockSchedule schedule;  // The first that reached it.
  int64_t runs = 0;                      // That reached it.
  // Against the first answer: the token where it leaves, and the margin that the first one had
  // there. Absent of the first.
  std::optional<int64_t> leaves_at;
  std::optional<double> margin_nats;
};

struct Envelope {
  std::vector<ReachedAnswer> answers;  // In the order of discovery.
  double noise_nats = 0;               // The most that a setting moved a margin.
  int64_t noise_samples = 0;  // Margins of one token after equal tokens that were compared.
  int64_t near_ties = 0;      // Tokens at which it branched, or would have.
  int64_t runs = 0;
  int64_t known_runs = 0;   // Of them, those that were known already.
  int64_t not_visited = 0;  // Branches for which there was no budget.
};

// Errors: those of `model`, whatever was found by then.
absl::StatusOr<Envelope> FindEnvelope(const std::vector<NamedSettings>& settings,
                                      const EnvelopeOptions& options, const ScheduledModel& model);

}  // namespace reenact::explain

#endif  // REENACT_REPLAYER_EXPLAIN_ENVELOPE_H_
