#include "replayer/analysis/token_counts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "replayer/analysis/descriptive.h"
#include "replayer/analysis/elementary.h"
#include "replayer/analysis/logprob_shift.h"
#include "replayer/analysis/special_functions.h"

namespace reenact::analysis {
namespace {

struct Table {
  std::vector<int64_t> reference, current;
  int64_t n1 = 0;
  int64_t n2 = 0;

  int64_t total(size_t token) const { return reference[token] + current[token]; }

  // |x / n1 - y / n2| summed, times n1 n2 and whole: no rounding decides a tie.
  int64_t ScaledDistance(const std::vector<int64_t>& of_current) const {
    int64_t sum = 0;
    for (size_t t = 0; t < of_current.size(); ++t) {
      sum += std::abs((total(t) - of_current[t]) * n2 - of_current[t] * n1);
    }
    return sum;
  }
};

// All ways to deal the pooled counts to a current sample of n2, with their chances.
class Enumeration {
 public:
  explicit Enumeration(const Table& table)
      : table_(table),
        observed_(table.ScaledDistance(table.current)),
        log_all_(LogChoose(table.n1 + table.n2, table.n2)),
        dealt_(table.current.size(), 0),
        left_after_(table.current.size() + 1, 0) {
    for (size_t t = table.current.size(); t > 0; --t) {
      left_after_[t - 1] = left_after_[t] + table.total(t - 1);
    }
    double log_chance = -log_all_;
    for (size_t t = 0; t < table.current.size(); ++t) {
      log_chance += LogChoose(table.total(t), table.current[t]);
    }
    observed_chance_ = Exp(log_chance);
    Deal(0, table.n2, -log_all_);
  }

  double p_distance() const { return std::min(1.0, SumOf(as_far_)); }

  double p_fisher() const { return std::min(1.0, SumOf(no_likelier_)); }

 private:
  void Deal(size_t token, int64_t left, double log_chance) {
    if (token == dealt_.size()) {
      const double chance = Exp(log_chance);
      if (table_.ScaledDistance(dealt_) >= observed_) as_far_.push_back(chance);
      if (chance <= observed_chance_ * (1 + 1e-7)) no_likelier_.push_back(chance);
      return;
    }
    // The tokens after this one must be able to take what is left.
    const int64_t least = std::max<int64_t>(0, left - left_after_[token + 1]);
    const int64_t most = std::min(left, table_.total(token));
    for (int64_t count = least; count <= most; ++count) {
      dealt_[token] = count;
      Deal(token + 1, left - count, log_chance + LogChoose(table_.total(token), count));
    }
  }

  const Table& table_;
  int64_t observed_;
  double log_all_;
  double observed_chance_ = 0;
  std::vector<int64_t> dealt_;
  std::vector<int64_t> left_after_;
  std::vector<double> as_far_, no_likelier_;
};

// An upper bound of the number of tables: the last token takes what is left.
double TableCount(const Table& table) {
  double count = 1;
  for (size_t t = 0; t + 1 < table.current.size(); ++t) {
    count *= static_cast<double>(std::min(table.n2, table.total(t)) + 1);
  }
  return count;
}

Measure DrawnDistanceP(const Table& table, const CountOptions& options) {
  std::vector<size_t> pooled;
  for (size_t t = 0; t < table.current.size(); ++t) pooled.insert(pooled.end(), table.total(t), t);
  const int64_t observed = table.ScaledDistance(table.current);
  int64_t as_far = 0;
  for (int64_t draw = 0; draw < options.draws; ++draw) {
    RandomStream random(options.seed, static_cast<uint64_t>(draw));
    std::vector<size_t> order = pooled;
    Shuffle(order, random);
    std::vector<int64_t> dealt(table.current.size(), 0);
    for (int64_t i = 0; i < table.n2; ++i) ++dealt[order[i]];
    as_far += table.ScaledDistance(dealt) >= observed;
  }
  return DrawnP(as_far, options.draws);
}

void FillAsymptotic(const Table& table, CountComparison* result) {
  const double n = static_cast<double>(table.n1 + table.n2);
  std::vector<double> squares;
  std::vector<double> logs;
  for (size_t t = 0; t < table.current.size(); ++t) {
    for (const auto& [count, side] :
         {std::pair{table.reference[t], table.n1}, std::pair{table.current[t], table.n2}}) {
      const double expected = static_cast<double>(table.total(t)) * static_cast<double>(side) / n;
      const double observed = static_cast<double>(count);
      squares.push_back((observed - expected) * (observed - expected) / expected);
      if (count > 0) logs.push_back(2 * observed * Log(observed / expected));
      result->expected_below_five = result->expected_below_five || expected < 5;
    }
  }
  result->df = static_cast<int64_t>(table.current.size()) - 1;
  if (result->df < 1) {
    // One value on both sides: nothing can differ.
    result->chi2 = result->g = 0.0;
    result->chi2_p = result->g_p = 1.0;
    return;
  }
  result->chi2 = SumOf(squares);
  result->g = std::max(0.0, SumOf(logs));
  result->chi2_p = ChiSquareUpperTail(result->chi2.value(), result->df);
  result->g_p = ChiSquareUpperTail(result->g.value(), result->df);
}

int64_t CountOf(const Counts& counts, const std::string& token) {
  const auto found = counts.find(token);
  return found == counts.end() ? 0 : found->second;
}

int64_t TotalOf(const Counts& counts) {
  int64_t total = 0;
  for (const auto& [token, count] : counts) total += count;
  return total;
}

}  // namespace

CountComparison CompareCounts(const Counts& reference, const Counts& current,
                              const CountOptions& options) {
  CountComparison result;
  Counts pooled = reference;
  for (const auto& [token, count] : current) pooled[token] += count;
  Table table;
  for (const auto& [token, count] : pooled) {
    if (CountOf(reference, token) < 0 || CountOf(current, token) < 0) {
      result.tv = result.p = result.fisher_p = Status::kOutOfRange;
      return result;
    }
    if (count == 0) continue;
    result.tokens.push_back(token);
    table.reference.push_back(CountOf(reference, token));
    table.current.push_back(CountOf(current, token));
  }
  table.n1 = TotalOf(reference);
  table.n2 = TotalOf(current);
  if (table.n1 == 0 || table.n2 == 0) return result;
  result.tv = static_cast<double>(table.ScaledDistance(table.current)) /
              (2 * static_cast<double>(table.n1) * static_cast<double>(table.n2));
  FillAsymptotic(table, &result);
  result.exact = TableCount(table) <= static_cast<double>(options.exact_up_to);
  if (result.exact) {
    const Enumeration all(table);
    result.p = all.p_distance();
    result.fisher_p = all.p_fisher();
  } else {
    result.p = DrawnDistanceP(table, options);
    result.fisher_p = Status::kTooLarge;
  }
  return result;
}

FingerprintMix CompareFingerprints(const Counts& before, const Counts& after,
                                   const CountOptions& options) {
  FingerprintMix result;
  result.mix = CompareCounts(before, after, options);
  const int64_t n1 = TotalOf(before);
  const int64_t n2 = TotalOf(after);
  int64_t novel_count = 0;
  for (const auto& [value, count] : after) {
    if (count == 0 || CountOf(before, value) > 0) continue;
    result.novel.push_back(value);
    novel_count += count;
  }
  for (const auto& [value, count] : before) {
    if (count == 0 || CountOf(after, value) > 0) continue;
    result.vanished.push_back(value);
    const double share = static_cast<double>(count) / static_cast<double>(n1);
    result.unseen_by_chance[value] = IntegerPower(1 - share, n2);
  }
  if (n2 > 0) result.novel_share = static_cast<double>(novel_count) / static_cast<double>(n2);
  return result;
}

}  // namespace reenact::analysis
