#include "replayer/analysis/pass_at_k.h"

#include <vector>

#include "replayer/analysis/descriptive.h"
#include "replayer/analysis/elementary.h"

namespace reenact::analysis {
namespace {

Status Check(PassCount count, int64_t k) {
  if (count.runs == 0) return Status::kNoData;
  if (count.passes < 0 || count.passes > count.runs) return Status::kOutOfRange;
  return k >= 1 && k <= count.runs ? Status::kOk : Status::kOutOfRange;
}

// The share of draws of k out of n that all fall among the m marked: C(m, k) / C(n, k).
double AllOfK(int64_t m, int64_t n, int64_t k) {
  double share = 1;
  for (int64_t i = 0; i < k && share > 0; ++i) {
    share *= m > i ? static_cast<double>(m - i) / static_cast<double>(n - i) : 0;
  }
  return share;
}

Measure Suite(std::span<const PassCount> cases, int64_t k, Measure (*one)(PassCount, int64_t)) {
  if (cases.empty()) return Status::kNoData;
  std::vector<double> values;
  for (const PassCount& count : cases) {
    const Measure value = one(count, k);
    if (!value.ok()) return value;
    values.push_back(value.value());
  }
  return MeanOf(values);
}

}  // namespace

Measure PassAtK(PassCount count, int64_t k) {
  if (Status wrong = Check(count, k); wrong != Status::kOk) return wrong;
  return 1 - AllOfK(count.runs - count.passes, count.runs, k);
}

Measure PassHatK(PassCount count, int64_t k) {
  if (Status wrong = Check(count, k); wrong != Status::kOk) return wrong;
  return AllOfK(count.passes, count.runs, k);
}

Measure PassHatKPlugIn(PassCount count, int64_t k) {
  // It exists beyond k = n too, which is part of what is wrong with it.
  if (Status wrong = Check(count, 1); wrong != Status::kOk) return wrong;
  if (k < 1) return Status::kOutOfRange;
  return IntegerPower(static_cast<double>(count.passes) / static_cast<double>(count.runs), k);
}

Measure SuitePassAtK(std::span<const PassCount> cases, int64_t k) {
  return Suite(cases, k, &PassAtK);
}

Measure SuitePassHatK(std::span<const PassCount> cases, int64_t k) {
  return Suite(cases, k, &PassHatK);
}

}  // namespace reenact::analysis
