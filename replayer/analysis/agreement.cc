#include "replayer/analysis/agreement.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "replayer/analysis/elementary.h"

namespace reenact::analysis {
namespace {

template <typename T>
bool AllTheSame(const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(), [&](const T& v) { return v == values[0]; });
}

// The runs of a case that are right, in order.
std::vector<bool> RightRuns(const RepeatedCase& one) {
  std::vector<bool> right;
  for (const std::optional<std::string>& answer : one.parsed) {
    right.push_back(answer.has_value() && answer == one.gold);
  }
  return right;
}

void FillAccuracy(std::span<const RepeatedCase> cases, TotalAgreement* result) {
  for (const RepeatedCase& one : cases) {
    if (!one.gold || one.parsed.size() != one.raw.size()) return;
  }
  const double count = static_cast<double>(cases.size());
  std::vector<int64_t> right_in_run(result->runs, 0);
  int64_t any_right = 0;
  int64_t all_right = 0;
  for (const RepeatedCase& one : cases) {
    const std::vector<bool> right = RightRuns(one);
    for (size_t run = 0; run < right.size(); ++run) right_in_run[run] += right[run];
    any_right += std::find(right.begin(), right.end(), true) != right.end();
    all_right += std::find(right.begin(), right.end(), false) == right.end();
  }
  for (const int64_t right : right_in_run) {
    result->accuracy.push_back(static_cast<double>(right) / count);
  }
  result->mean_accuracy = MeanOf(result->accuracy);
  result->sd_accuracy = StandardDeviation(result->accuracy);
  result->best_possible = static_cast<double>(any_right) / count;
  result->worst_possible = static_cast<double>(all_right) / count;
  result->spread = static_cast<double>(any_right - all_right) / count;
}

}  // namespace

Agreement AgreementOf(std::span<const int64_t> counts) {
  Agreement result;
  int64_t agreeing = 0;
  int64_t largest = 0;
  for (const int64_t count : counts) {
    if (count <= 0) continue;
    result.n += count;
    ++result.unique;
    agreeing += count * (count - 1);
    largest = std::max(largest, count);
  }
  if (result.n == 0) return result;
  const double n = static_cast<double>(result.n);
  std::vector<double> entropy;
  std::vector<double> squares;
  for (const int64_t count : counts) {
    if (count <= 0) continue;
    const double share = static_cast<double>(count) / n;
    entropy.push_back(-share * Log(share));
    squares.push_back(share * share);
  }
  result.modal_share = static_cast<double>(largest) / n;
  result.pairwise = result.n < 2 ? Measure(Status::kInsufficientN)
                                 : Measure(static_cast<double>(agreeing) / (n * (n - 1)));
  result.entropy_nats = result.unique == 1 ? 0 : SumOf(entropy);
  result.effective = Exp(result.entropy_nats.value());
  result.gini = 1 - SumOf(squares);
  return result;
}

Agreement AgreementOf(std::span<const std::string> answers) {
  std::map<std::string, int64_t> tally;
  for (const std::string& answer : answers) ++tally[answer];
  std::vector<int64_t> counts;
  for (const auto& [answer, count] : tally) counts.push_back(count);
  return AgreementOf(counts);
}

TotalAgreement MeasureAgreement(std::span<const RepeatedCase> cases, double confidence) {
  TotalAgreement result;
  if (cases.empty() || cases[0].raw.empty()) {
    result.status = Status::kNoData;
    return result;
  }
  result.runs = static_cast<int64_t>(cases[0].raw.size());
  int64_t raw = 0;
  int64_t parsed = 0;
  for (const RepeatedCase& one : cases) {
    if (one.raw.size() != cases[0].raw.size() ||
        (!one.parsed.empty() && one.parsed.size() != one.raw.size())) {
      result.status = Status::kNotComparable;
      result.raw = result.parsed = Status::kNotComparable;
      return result;
    }
    raw += AllTheSame(one.raw);
    parsed += !one.parsed.empty() && one.parsed[0].has_value() && AllTheSame(one.parsed);
    result.cases.push_back(AgreementOf(one.raw));
  }
  if (result.runs < 2) result.status = Status::kInsufficientN;
  const int64_t count = static_cast<int64_t>(cases.size());
  result.raw = static_cast<double>(raw) / static_cast<double>(count);
  result.raw_interval = WilsonInterval(raw, count, confidence);
  result.parsed = static_cast<double>(parsed) / static_cast<double>(count);
  result.parsed_interval = WilsonInterval(parsed, count, confidence);
  FillAccuracy(cases, &result);
  return result;
}

}  // namespace reenact::analysis
