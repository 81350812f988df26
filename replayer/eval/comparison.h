// Is B another than A, on the same cases? The paired test is the verdict; whether two intervals
// overlap is shown beside it, since people look at it, and explained where it says something else.

#ifndef REENACT_REPLAYER_EVAL_COMPARISON_H_
#define REENACT_REPLAYER_EVAL_COMPARISON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "replayer/analysis/paired.h"
#include "replayer/analysis/paired_proportions.h"
#include "replayer/eval/results.h"

namespace reenact::eval {

struct CompareOptions {
  double alpha = 0.05;
  double power = 0.8;         // For the smallest difference that is seen.
  double most_missing = 0.1;  // Of cases; more make a verdict inconclusive.
  uint64_t seed = analysis::kDefaultSeed;
};

// What was compared: the score, and whether it passed.
struct MetricComparison {
  std::string metric;        // "score", "pass"
  analysis::PairedT paired;  // On case means.
  analysis::SignFlip flips;  // Exact up to 20 cases.
  // One answer a case and side: the table of passes and fails.
  bool has_table = false;
  analysis::McNemar mcnemar;
  analysis::PairedDifference table_difference;
  analysis::Measure p;           // Of the test that decides, named here:
  std::string decided_by;        // "sign-flip, exact", "paired t", "McNemar mid-p", "sign test"
  analysis::Measure adjusted;    // Holm, over all metrics.
  analysis::Measure detectable;  // The least difference that these cases show with the power.
  bool significant = false;
  std::string overlap_says;  // "no difference" or "different", by 95 % intervals of each side.
  std::string explanation;   // Where the two disagree. Else empty.
};

enum class CompareVerdict : uint8_t { kNoDifference, kABetter, kBBetter, kInconclusive };
std::string_view ToString(CompareVerdict verdict);  // "a_better"

struct Comparison {
  CompareVerdict verdict = CompareVerdict::kInconclusive;
  std::string inconclusive_because;
  Mode mode = Mode::kDistribution;
  int64_t cases = 0;                        // On both sides.
  int64_t repeats = 0;                      // For each case and side.
  std::vector<std::string> only_a, only_b;  // Cases without an answer on the other side.
  int64_t missing_a = 0, missing_b = 0;     // Samples without a grade.
  bool small_sample = false;
  std::vector<MetricComparison> metrics;  // The first is the verdict's.
};

// Why these must not be compared: other cases, another grader, another number of repeats, fewer
// than kLeastRepeats, modes that differ, one endpoint and model in two fingerprint epochs. OK: they
// may be.
absl::Status Comparable(const EvalResults& a, const EvalResults& b);

Comparison Compare(const EvalResults& a, const EvalResults& b, const CompareOptions& options = {});

}  // namespace reenact::eval

#endif  // REENACT_REPLAYER_EVAL_COMPARISON_H_
