// Why did it answer that? The verdict, from what changed and from what an experiment shows to flip
// the outcome. A cause is named only where both hold.
//
// Arm 0 is the incident again with nothing changed. Where it comes to both outcomes nothing needs
// to have changed: the verdict is that the answer is drawn, and by what. Otherwise each difference
// is put in alone (the incident with the reference's value) and taken out alone (the reference with
// the incident's), and counts only against the arm in which nothing was changed: Fisher's exact
// test, Holm over all arms, and the alpha divided over the looks at a growing sample. Where no
// difference does it alone, delta debugging finds those that do together. Where the incident does
// not happen again, it is tried in batches, if it can be: load leaves no other trace in a record.
//
// Pure but for Experiment::Run and ExplainOptions::loads.

#ifndef REENACT_REPLAYER_EXPLAIN_EXPLANATION_H_
#define REENACT_REPLAYER_EXPLAIN_EXPLANATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/explain/arms.h"
#include "replayer/explain/experiment.h"
#include "replayer/explain/load_trials.h"
#include "replayer/explain/variable.h"

namespace reenact::explain {

// What the records alone show of the decision.
struct RecordEvidence {
  bool same_request = false;           // Both answers are answers to one request.
  bool draws = false;                  // It asks for sampling, and names no seed.
  bool hosted = true;                  // Not our own engine: what ran beside it is not known.
  std::optional<int64_t> token_index;  // Where the answers part, from 0.
  // Between the two alternatives there, the smaller of both records; nats.
  std::optional<double> margin_nats;
  std::string incident_token;
  std::string reference_token;
  int64_t incident_in_flight = 0;  // Own calls under way beside it.
  int64_t reference_in_flight = 0;
  // The record cannot tell more: "no logprobs were recorded".
  std::string missing;

  bool near_tie() const;
};

// Where both records part, how closely, and what ran beside them; empty for different requests.
std::vector<std::string> SentencesOf(const RecordEvidence& record);

enum class Verdict : uint8_t {
  kNoDifference,  // Both runs did the same.
  kCause,         // Changed, and flips the outcome.
  kCauses,        // Several that changed, and only together make or repair it.
  kSampling,      // Drawn: unchanged reruns come to both.
  kNearTie,       // Not drawn, and unchanged reruns or batches come to both; there is a near-tie.
  kLoad,          // The same, of our own engine or beside more or fewer calls.
  kInconclusive,
};
std::string_view ToString(Verdict verdict);  // "cause"

// What the experiment showed of one variable.
struct Finding {
  size_t variable = 0;
  bool can_set = true;
  std::string why_not;
  Arm put_in;           // The incident, with the reference's value.
  Arm taken_out;        // The reference, with the incident's value.
  double put_in_p = 1;  // Adjusted.
  double taken_out_p = 1;
  bool repairs = false;  // Putting it in alone gives the reference's outcome.
  bool breaks = false;   // Taking it out alone gives the incident's.
  bool flips = false;    // Both, alone or as one of `causes`.
};

struct ExplainOptions {
  int64_t unchanged_runs = 12;  // Of the incident, and as many of the reference.
  double alpha = 0.05;          // For all accusations of one explanation together.
  int64_t max_trials = 600;
  // Tries the incident's call in batches, on an engine of ours; empty: there is none.
  std::function<absl::StatusOr<LoadTrials>()> loads;
};

struct Explanation {
  Verdict verdict = Verdict::kInconclusive;
  std::vector<size_t> causes;   // Indexes of variables.
  bool each_is_enough = false;  // Of several: each makes the incident alone, all must be repaired.
  Arm unchanged;                // Arm 0.
  Arm reference;                // The reference again, unchanged.
  std::vector<Finding> findings;      // One a variable.
  std::vector<std::string> evidence;  // Sentences.
  std::string because;                // Of kInconclusive.
  std::string settled_by;             // What would settle it; may be empty.
  int64_t trials = 0;
  int64_t failed_trials = 0;
  bool budget_spent = false;
  std::optional<LoadTrials> loads;  // Where they were tried.
};

// `experiment` null: nothing can be asked, and the record alone speaks.
Explanation Explain(const std::vector<Variable>& variables, const RecordEvidence& record,
                    Experiment* experiment, const ExplainOptions& options = {});

// The verdict in one sentence.
std::string Sentence(const Explanation& explanation, const std::vector<Variable>& variables,
                     const RecordEvidence& record);

}  // namespace reenact::explain

#endif  // REENACT_REPLAYER_EXPLAIN_EXPLANATION_H_
