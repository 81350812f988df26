#include "replayer/analysis/logprob_shift.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "replayer/analysis/special_functions.h"

namespace reenact::analysis {
namespace {

using Row = std::vector<double>;  // Logprobs of all tokens of the series, in their order.

bool IsValid(const TopTokens& sample) {
  return !sample.empty() && std::all_of(sample.begin(), sample.end(), [](const auto& entry) {
    return entry.second > kInvalidFrom && entry.second <= 1e-6;
  });
}

// The sample without what only says "not listed"; `raised` lifts what lies below the lowest.
TopTokens Listed(const TopTokens& sample, bool raised) {
  TopTokens listed;
  for (const auto& [token, logprob] : sample) {
    if (logprob <= kCensoredFrom) continue;
    listed[token] = raised ? std::max(logprob, kLowestLogprob) : logprob;
  }
  return listed;
}

double LowestOf(const TopTokens& sample) {
  double lowest = 0;
  for (const auto& [token, logprob] : sample) lowest = std::min(lowest, logprob);
  return lowest;
}

// Valid samples of one group, in an order that only their values decide.
std::vector<TopTokens> Prepare(std::span<const TopTokens> samples, bool raised, int64_t* invalid) {
  std::vector<TopTokens> prepared;
  for (const TopTokens& sample : samples) {
    if (IsValid(sample)) {
      prepared.push_back(Listed(sample, raised));
    } else {
      ++*invalid;
    }
  }
  std::sort(prepared.begin(), prepared.end());
  return prepared;
}

std::vector<Row> Tabulate(std::span<const TopTokens> samples, std::span<const std::string> tokens,
                          Censoring censoring) {
  double series_min = 0;
  for (const TopTokens& sample : samples) series_min = std::min(series_min, LowestOf(sample));
  std::vector<Row> rows;
  for (const TopTokens& sample : samples) {
    double floor = series_min;
    if (censoring == Censoring::kSampleMin) floor = LowestOf(sample);
    if (censoring == Censoring::kFixed) floor = kLowestLogprob;
    Row row;
    for (const std::string& token : tokens) {
      const auto found = sample.find(token);
      row.push_back(found == sample.end() ? floor : found->second);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// The statistic of any labelling from the sums of one group, since both groups add up to the total.
class Relabelling {
 public:
  Relabelling(const std::vector<Row>& rows, size_t first_count)
      : rows_(rows), n1_(static_cast<double>(first_count)), totals_(rows[0].size(), 0) {
    n2_ = static_cast<double>(rows.size()) - n1_;
    for (const Row& row : rows) {
      for (size_t t = 0; t < row.size(); ++t) totals_[t] += row[t];
    }
  }

  double Statistic(std::span<const size_t> first_group) const {
    double sum = 0;
    for (size_t t = 0; t < totals_.size(); ++t) {
      double group = 0;
      for (const size_t row : first_group) group += rows_[row][t];
      sum += std::fabs(group / n1_ - (totals_[t] - group) / n2_);
    }
    return sum / static_cast<double>(totals_.size());
  }

 private:
  const std::vector<Row>& rows_;
  double n1_;
  double n2_ = 0;
  Row totals_;
};

// The next choice of indices below n in lexicographic order; false after the last.
bool NextChoice(std::vector<size_t>& choice, size_t n) {
  size_t i = choice.size();
  while (i > 0 && choice[i - 1] == n - choice.size() + i - 1) --i;
  if (i == 0) return false;
  ++choice[i - 1];
  for (; i < choice.size(); ++i) choice[i] = choice[i - 1] + 1;
  return true;
}

// Mean over tokens of the distance of the two group means, each summed without regard to order.
double ObservedStatistic(const std::vector<Row>& rows, size_t first_count) {
  std::vector<double> distances;
  std::vector<double> first;
  std::vector<double> second;
  for (size_t t = 0; t < rows[0].size(); ++t) {
    first.clear();
    second.clear();
    for (size_t i = 0; i < rows.size(); ++i)
      (i < first_count ? first : second).push_back(rows[i][t]);
    distances.push_back(std::fabs(MeanOf(first) - MeanOf(second)));
  }
  return MeanOf(distances);
}

double LargestMagnitude(const std::vector<Row>& rows) {
  double largest = 0;
  for (const Row& row : rows) {
    for (const double value : row) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

void Permute(const std::vector<Row>& rows, size_t first_count, const ShiftOptions& options,
             LogprobShift* result) {
  const Relabelling relabelling(rows, first_count);
  // Ties must not break by rounding, which grows with the values that are added.
  const double at_least = result->statistic.value() - 1e-12 * std::max(1.0, LargestMagnitude(rows));
  if (result->exact) {
    std::vector<size_t> choice(first_count);
    std::iota(choice.begin(), choice.end(), size_t{0});
    do {
      ++result->draw_count;
      result->as_extreme += relabelling.Statistic(choice) >= at_least;
    } while (NextChoice(choice, rows.size()));
    result->p = static_cast<double>(result->as_extreme) / static_cast<double>(result->draw_count);
    return;
  }
  std::vector<size_t> order(rows.size());
  for (int64_t draw = 0; draw < options.draws; ++draw) {
    RandomStream random(options.seed, static_cast<uint64_t>(draw));
    std::iota(order.begin(), order.end(), size_t{0});
    Shuffle(order, random);
    result->as_extreme += relabelling.Statistic({order.data(), first_count}) >= at_least;
  }
  result->draw_count = options.draws;
  result->p = DrawnP(result->as_extreme, options.draws);
  result->smallest_p = DrawnP(0, options.draws);
}

}  // namespace

Measure DrawnP(int64_t as_extreme, int64_t draws) {
  if (draws < 1 || as_extreme < 0 || as_extreme > draws) return Status::kOutOfRange;
  return static_cast<double>(as_extreme + 1) / static_cast<double>(draws + 1);
}

Resolution PermutationResolution(int64_t n1, int64_t n2) {
  if (n1 < 1 || n2 < 1) return {.relabellings = Status::kNoData, .smallest_p = Status::kNoData};
  const double all = Choose(n1 + n2, n1);
  // Groups of equal size may change places.
  return {.relabellings = all, .smallest_p = Measure((n1 == n2 ? 2 : 1) / all)};
}

LogprobShift TestShift(std::span<const TopTokens> first, std::span<const TopTokens> second,
                       const ShiftOptions& options) {
  LogprobShift result;
  const bool raised = options.censoring != Censoring::kFixed;
  const std::vector<TopTokens> group1 = Prepare(first, raised, &result.invalid_samples);
  const std::vector<TopTokens> group2 = Prepare(second, raised, &result.invalid_samples);
  if (group1.empty() || group2.empty()) return result;
  std::vector<TopTokens> all = group1;
  all.insert(all.end(), group2.begin(), group2.end());
  std::set<std::string> tokens;
  for (const TopTokens& sample : all) {
    for (const auto& [token, logprob] : sample) tokens.insert(token);
  }
  if (tokens.empty()) return result;
  result.tokens.assign(tokens.begin(), tokens.end());
  const std::vector<Row> rows = Tabulate(all, result.tokens, options.censoring);
  result.statistic = ObservedStatistic(rows, group1.size());
  const Resolution resolution = PermutationResolution(static_cast<int64_t>(group1.size()),
                                                      static_cast<int64_t>(group2.size()));
  result.relabellings = resolution.relabellings;
  result.smallest_p = resolution.smallest_p;
  result.exact = resolution.relabellings.ok() &&
                 resolution.relabellings.value() <= static_cast<double>(options.exact_up_to);
  if (!result.exact && options.draws < 1) {
    result.p = Status::kOutOfRange;
    return result;
  }
  Permute(rows, group1.size(), options, &result);
  return result;
}

}  // namespace reenact::analysis
