// Has an endpoint moved, though its text may look the same? First-token logprobs of a few fixed
// prompts, window after window, judged against how far windows of the baseline lie apart from each
// other: samples of one minute share load and host, and are never judged as if they were
// independent.
//
// A change is one that stays: the last windows of a check must all stand out.

#ifndef REENACT_REPLAYER_DRIFT_DRIFT_CHECK_H_
#define REENACT_REPLAYER_DRIFT_DRIFT_CHECK_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "replayer/analysis/logprob_shift.h"
#include "replayer/analysis/noise_floor.h"
#include "replayer/analysis/token_counts.h"
#include "replayer/analysis/top_divergence.h"

namespace reenact::drift {

// One first token, as it was offered.
struct Probe {
  std::string prompt;       // Mark of the request without what may change: prompts are strata.
  std::string fingerprint;  // As identity::FingerprintText gives it.
  std::string served_model;
  int64_t prompt_tokens = 0;  // As counted by the endpoint; 0: not told.
  int64_t top_count = 0;      // Alternatives asked for.
  double temperature = 1;
  bool scaled = false;  // Logprobs were taken after temperature and the like.
  analysis::TopTokens top;
};

// What was probed within minutes.
struct Window {
  int64_t at_wall_ns = 0;
  std::vector<Probe> probes;
  int64_t failed = 0;  // Probes that were not answered, or without logprobs.
};

struct Baseline {
  std::string name;
  std::string target;
  std::string model;
  // Taken at different times. The first is the reference; the others, against it, are the null.
  std::vector<Window> windows;
};

struct DriftOptions {
  analysis::DriftGates gates;
  // Compares although the fingerprints of the baseline are gone: what the epoch brought is then
  // measured, and the baseline stays void.
  bool across_epochs = false;
};

// Why a window must not be compared with a baseline: other settings of the probes, raw against
// scaled logprobs, no prompt in common, or fingerprints of which none is left.
absl::Status Comparable(const Baseline& baseline, const std::vector<Window>& windows,
                        const DriftOptions& options);

struct PromptShift {
  std::string prompt;
  analysis::Measure statistic;  // Nats, of the last window.
  analysis::TopDivergence top;  // Mean lists of reference and last window.
};

struct WindowJudgement {
  int64_t at_wall_ns = 0;
  analysis::Measure statistic;  // Mean over prompts, in nats.
  analysis::NoiseFloor floor;
  bool stands_out = false;
};

enum class Verdict : uint8_t { kNoChange, kChanged, kInconclusive };
std::string_view ToString(Verdict verdict);  // "no_change"

struct DriftReport {
  Verdict verdict = Verdict::kInconclusive;
  std::string sentence;  // The verdict and why, in one.
  // What is known of the cause, the surest first: "served_model_changed", "fingerprint_changed",
  // "prompt_tokens_changed" (template or tokenizer), "shift_without_fingerprint_change",
  // "bitwise_change". What is only consistent with something is in the sentence.
  std::vector<std::string> causes;
  std::vector<double> null;  // The statistic of each baseline window against the reference.
  std::vector<WindowJudgement> windows;
  int64_t persistent = 0;  // How many of the last windows stand out, without a gap.
  std::vector<PromptShift> prompts;
  analysis::FingerprintMix fingerprints;
  std::set<std::string> stratum;  // Fingerprints whose probes were compared; empty: all.
  int64_t probe_count = 0;        // Of the check.
  int64_t invalid_probes = 0;
  int64_t failed_probes = 0;  // More than a tenth of all make the check inconclusive.
};

// `windows` in order of time, of one check.
DriftReport Check(const Baseline& baseline, const std::vector<Window>& windows,
                  const DriftOptions& options = {});

}  // namespace reenact::drift

#endif  // REENACT_REPLAYER_DRIFT_DRIFT_CHECK_H_
