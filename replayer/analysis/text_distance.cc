#include "replayer/analysis/text_distance.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "replayer/analysis/logprob_shift.h"
#include "replayer/analysis/special_functions.h"

namespace reenact::analysis {
namespace {

// Equal positions of two samples of one prompt.
int64_t EqualPositions(const TextSample& a, const TextSample& b, int64_t length) {
  const auto at = [](const TextSample& s, int64_t i) {
    return i < static_cast<int64_t>(s.symbols.size()) ? s.symbols[i] : -1;
  };
  int64_t equal = 0;
  for (int64_t i = 0; i < length; ++i) equal += at(a, i) == at(b, i);
  return equal;
}

// All samples, those of x first, with the likeness of each pair of one prompt; -1 for other pairs.
struct Pool {
  std::vector<TextSample> samples;
  std::vector<int64_t> likeness;
  size_t x_count = 0;
  int64_t length = 0;

  // Unbiased MMD^2 where `in_x` says which samples are of x; nothing where a mean has no pair.
  std::optional<double> Mmd2(const std::vector<char>& in_x) const {
    // Sums and numbers of pairs: both in x, one in each, both in y. Whole numbers: no order, no
    // rounding.
    int64_t sum[3] = {};
    int64_t pairs[3] = {};
    for (size_t i = 0; i < samples.size(); ++i) {
      for (size_t j = i + 1; j < samples.size(); ++j) {
        const int64_t value = likeness[i * samples.size() + j];
        if (value < 0) continue;
        const int kind = in_x[i] && in_x[j] ? 0 : in_x[i] || in_x[j] ? 1 : 2;
        sum[kind] += value;
        ++pairs[kind];
      }
    }
    if (pairs[0] == 0 || pairs[1] == 0 || pairs[2] == 0) return std::nullopt;
    const auto mean = [&](int kind) {
      return static_cast<double>(sum[kind]) /
             (static_cast<double>(pairs[kind]) * static_cast<double>(length));
    };
    return mean(0) - 2 * mean(1) + mean(2);
  }
};

Pool MakePool(std::span<const TextSample> x, std::span<const TextSample> y, int64_t length) {
  Pool pool;
  pool.samples.assign(x.begin(), x.end());
  std::sort(pool.samples.begin(), pool.samples.end());
  std::vector<TextSample> of_y(y.begin(), y.end());
  std::sort(of_y.begin(), of_y.end());
  pool.samples.insert(pool.samples.end(), of_y.begin(), of_y.end());
  pool.x_count = x.size();
  for (const TextSample& sample : pool.samples) {
    pool.length = std::max(pool.length, static_cast<int64_t>(sample.symbols.size()));
  }
  if (length > 0) pool.length = length;
  pool.length = std::max<int64_t>(1, pool.length);
  const size_t n = pool.samples.size();
  pool.likeness.assign(n * n, -1);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      if (pool.samples[i].prompt != pool.samples[j].prompt) continue;
      pool.likeness[i * n + j] = EqualPositions(pool.samples[i], pool.samples[j], pool.length);
    }
  }
  return pool;
}

// Samples whose labels may change places, and how many of them are of x.
struct Stratum {
  std::vector<size_t> members;
  size_t x_count = 0;
};

std::vector<Stratum> Strata(const Pool& pool, bool within_prompt) {
  std::map<int64_t, Stratum> strata;
  for (size_t i = 0; i < pool.samples.size(); ++i) {
    Stratum& stratum = strata[within_prompt ? pool.samples[i].prompt : 0];
    stratum.members.push_back(i);
    stratum.x_count += i < pool.x_count;
  }
  std::vector<Stratum> list;
  for (auto& [prompt, stratum] : strata) list.push_back(std::move(stratum));
  return list;
}

class PermutationTest {
 public:
  PermutationTest(const Pool& pool, std::vector<Stratum> strata, double observed,
                  TextDistance* result)
      : pool_(pool),
        strata_(std::move(strata)),
        at_least_(observed - 1e-12),
        in_x_(pool.samples.size(), 0),
        result_(result) {}

  // Every labelling of stratum `s` and of those after it.
  void Enumerate(size_t s) {
    if (s == strata_.size()) return Judge();
    const Stratum& stratum = strata_[s];
    std::vector<char> chosen(stratum.members.size(), 0);
    std::fill(chosen.begin(), chosen.begin() + static_cast<ptrdiff_t>(stratum.x_count), 1);
    do {
      for (size_t i = 0; i < chosen.size(); ++i) in_x_[stratum.members[i]] = chosen[i];
      Enumerate(s + 1);
    } while (std::prev_permutation(chosen.begin(), chosen.end()));
  }

  void Draw(RandomStream random) {
    for (const Stratum& stratum : strata_) {
      std::vector<size_t> order = stratum.members;
      Shuffle(order, random);
      for (size_t i = 0; i < order.size(); ++i) in_x_[order[i]] = i < stratum.x_count;
    }
    Judge();
  }

 private:
  void Judge() {
    const std::optional<double> value = pool_.Mmd2(in_x_);
    ++result_->draw_count;
    result_->undefined += !value;
    result_->as_extreme += value && *value >= at_least_;
  }

  const Pool& pool_;
  std::vector<Stratum> strata_;
  double at_least_;
  std::vector<char> in_x_;
  TextDistance* result_;
};

}  // namespace

TextDistance CompareTexts(std::span<const TextSample> x, std::span<const TextSample> y,
                          const TextOptions& options) {
  TextDistance result;
  if (x.empty() || y.empty()) return result;
  const Pool pool = MakePool(x, y, options.length);
  result.length = pool.length;
  std::vector<char> in_x(pool.samples.size(), 0);
  std::fill(in_x.begin(), in_x.begin() + static_cast<ptrdiff_t>(pool.x_count), 1);
  const std::optional<double> observed = pool.Mmd2(in_x);
  if (!observed) {
    result.mmd2 = result.p = Status::kInsufficientN;
    return result;
  }
  result.mmd2 = *observed;
  std::vector<Stratum> strata = Strata(pool, options.within_prompt);
  double labellings = 1;
  for (const Stratum& stratum : strata) {
    labellings *=
        Choose(static_cast<int64_t>(stratum.members.size()), static_cast<int64_t>(stratum.x_count));
  }
  result.exact = labellings <= static_cast<double>(options.exact_up_to);
  PermutationTest test(pool, std::move(strata), *observed, &result);
  if (result.exact) {
    test.Enumerate(0);
    result.p = static_cast<double>(result.as_extreme) / static_cast<double>(result.draw_count);
    return result;
  }
  for (int64_t draw = 0; draw < options.draws; ++draw) {
    test.Draw(RandomStream(options.seed, static_cast<uint64_t>(draw)));
  }
  result.p = DrawnP(result.as_extreme, options.draws);
  return result;
}

}  // namespace reenact::analysis
