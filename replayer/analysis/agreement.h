// Do repeated runs agree? Bits are compared, not meanings; a share of agreeing cases depends on the
// number of runs, and figures of different N are never compared.

#ifndef REENACT_REPLAYER_ANALYSIS_AGREEMENT_H_
#define REENACT_REPLAYER_ANALYSIS_AGREEMENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replayer/analysis/intervals.h"
#include "replayer/analysis/measure.h"

namespace reenact::analysis {

struct Agreement {
  int64_t n = 0;
  int64_t unique = 0;
  Measure modal_share;
  Measure pairwise;  // Share of pairs that agree: comparable between different n.
  Measure entropy_nats;
  Measure effective;  // e^entropy: as many equally frequent answers.
  Measure gini;       // 1 - sum of squared shares.
};

// How often each distinct answer came.
Agreement AgreementOf(std::span<const int64_t> counts);
Agreement AgreementOf(std::span<const std::string> answers);

// One case: N raw answers, and what was parsed out of each (nothing: it could not be).
struct RepeatedCase {
  std::vector<std::string> raw;
  std::vector<std::optional<std::string>> parsed;
  std::optional<std::string> gold;
};

// Total agreement rates (Atil et al. 2024) and what the runs score.
struct TotalAgreement {
  Status status =
      Status::kOk;        // kInsufficientN at N = 1: agreement is not measurable, whatever the 1.
  int64_t runs = 0;       // N.
  Measure raw;            // TARr@N: share of cases whose raw answers are all equal bytes.
  Interval raw_interval;  // Wilson over cases.
  Measure parsed;         // TARa@N; a case with an unparsable run does not agree.
  Interval parsed_interval;
  std::vector<double> accuracy;  // Of each run; empty without gold answers.
  Measure mean_accuracy;
  Measure sd_accuracy;     // Std@Acc
  Measure best_possible;   // A case counts if any run is right,
  Measure worst_possible;  // or if all are.
  Measure spread;
  std::vector<Agreement> cases;  // Of raw answers.
};

// Cases with different N: kNotComparable.
TotalAgreement MeasureAgreement(std::span<const RepeatedCase> cases,
                                double confidence = kDefaultConfidence);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_AGREEMENT_H_
