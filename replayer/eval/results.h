// What an eval found: one line a sample, as it is kept between runs, and as others keep theirs.
//
// A file of ours is JSONL: a header, then one line for each answer, appended as it arrives, so that
// an eval that was interrupted goes on where it stopped. Later lines of the same case and repeat
// replace earlier ones.

#ifndef REENACT_REPLAYER_EVAL_RESULTS_H_
#define REENACT_REPLAYER_EVAL_RESULTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::eval {

// What a verdict rests on; the two are never mixed in one.
enum class Mode : uint8_t {
  kBitwise,       // A: the target gives equal bytes by construction, so that one answer is enough.
  kDistribution,  // B: answers are drawn, and at least kLeastRepeats of them are judged.
};
std::string_view ToString(Mode mode);  // "A"

inline constexpr int64_t kLeastRepeats = 5;

struct ResultHeader {
  std::string name;
  Mode mode = Mode::kDistribution;
  std::string target;      // As Target::Name.
  std::string model;       // As asked.
  std::string cases;       // Mark of the case file: files of other cases are not compared.
  std::string grader;      // "regex", "judge …": other graders are not compared.
  int64_t repeats = 0;     // For each case; 0: not known.
  double threshold = 1;    // A score from here on passes.
  bool invariant = false;  // The target promises equal answers to equal questions.
  std::string source;      // Of others' results: "promptfoo", "csv", "jsonl". Else empty.

  bool operator==(const ResultHeader&) const = default;
};

struct SampleResult {
  std::string case_id;
  int64_t repeat = 0;               // From 0.
  std::string status = "answered";  // Else why there is no grade: "rate_limited", "grader_failed".
  std::optional<double> score;      // Absent unless answered and graded.
  bool pass = false;
  std::string answer;
  std::string why;  // What the grader says.
  std::string served_model;
  std::string fingerprint;
  std::string response_id;
  std::optional<double> least_margin_nats;  // Of its tokens, where logprobs told.
  std::vector<double> judge_scores;         // Of a judge that was asked several times.

  bool graded() const { return status == "answered" && score.has_value(); }

  bool operator==(const SampleResult&) const = default;
};

struct EvalResults {
  ResultHeader header;
  std::vector<SampleResult> samples;  // By case, in the order of their first sample, then repeat.
};

// Each ends with a line feed.
std::string HeaderLine(const ResultHeader& header);
std::string SampleLine(const SampleResult& sample);

// Results of any form, which their first bytes tell: ours; promptfoo's JSON; a JSON object a line
// with "case" (or "id", "case_id", "test"), "score" or "pass", and "repeat"; CSV with such columns.
// A line that was cut off at the end of ours is left out.
// Errors: InvalidArgument with the line and what it lacks.
absl::StatusOr<EvalResults> ParseResults(std::string_view text);

}  // namespace reenact::eval

#endif  // REENACT_REPLAYER_EVAL_RESULTS_H_
