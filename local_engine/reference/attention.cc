#include "local_engine/reference/attention.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "local_engine/numerics/exp_log.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/reference/halving_tree.h"
#include "local_engine/reference/planted_fault.h"

namespace reenact::local_engine {
namespace {

struct SplitResult {
  float maximum = 0;
  float weight_sum = 0;
  std::vector<float> weighted_values;  // [head_dim], not yet divided.
};

float Score(std::span<const float> query, const float* key, float scale) {
  float acc = 0.0f;
  for (size_t d = 0; d < query.size(); ++d) {
    const float q = Planted(PlantedFault::kQueryScaled) ? mul_rn(query[d], scale) : query[d];
    acc = fma_rn(q, key[d], acc);
  }
  return Planted(PlantedFault::kQueryScaled) ? acc : mul_rn(acc, scale);
}

// `live` within the split that starts at `begin`.
SplitResult AttendSplit(std::span<const float> query, const KvRows& rows, int32_t begin,
                        LiveKeys live, float scale) {
  float weights[kKvSplit] = {};
  float maximum = -std::numeric_limits<float>::infinity();
  for (int32_t j = live.first; j < live.end; ++j) {
    const float score = Score(query, rows.keys + static_cast<size_t>(j) * rows.stride, scale);
    weights[j - begin] = score;
    maximum = max_select(score, maximum);
  }
  for (int32_t j = live.first; j < live.end; ++j) {
    weights[j - begin] = Exp(sub_rn(weights[j - begin], maximum));
  }
  SplitResult result{.maximum = maximum, .weighted_values = std::vector<float>(query.size())};
  for (int32_t block = 0; block < kKvSplit; block += kKvSubBlock) {
    float sums[kKvSubBlock];
    std::copy_n(weights + block, kKvSubBlock, sums);
    result.weight_sum = add_rn(result.weight_sum, HalvingTree(sums, kKvSubBlock));
    const int32_t first = std::max(live.first, begin + block);
    const int32_t end = std::min(live.end, begin + block + kKvSubBlock);
    for (size_t d = 0; d < query.size(); ++d) {
      float acc = 0.0f;
      for (int32_t j = first; j < end; ++j) {
        acc =
            fma_rn(weights[j - begin], rows.values[static_cast<size_t>(j) * rows.stride + d], acc);
      }
      result.weighted_values[d] = add_rn(result.weighted_values[d], acc);
    }
  }
  return result;
}

// One pass with a running maximum, as a planted fault: another sequence of roundings.
SplitResult AttendOnline(std::span<const float> query, const KvRows& rows, LiveKeys live,
                         float scale) {
  SplitResult result{.maximum = -std::numeric_limits<float>::infinity(),
                     .weighted_values = std::vector<float>(query.size())};
  for (int32_t j = live.first; j < live.end; ++j) {
    const float score = Score(query, rows.keys + static_cast<size_t>(j) * rows.stride, scale);
    const float maximum = max_select(score, result.maximum);
    const float kept = Exp(sub_rn(result.maximum, maximum));
    const float weight = Exp(sub_rn(score, maximum));
    result.weight_sum = fma_rn(result.weight_sum, kept, weight);
    for (size_t d = 0; d < query.size(); ++d) {
      const float value = rows.values[static_cast<size_t>(j) * rows.stride + d];
      result.weighted_values[d] = fma_rn(weight, value, mul_rn(result.weighted_values[d], kept));
    }
    result.maximum = maximum;
  }
  return result;
}

// Where the split that holds position `at` begins, and how long it is.
struct SplitRange {
  int32_t begin = 0;
  int32_t length = kKvSplit;
};

SplitRange SplitAt(int32_t at, LiveKeys live) {
  if (Planted(PlantedFault::kSplitFromFirstKey)) {
    return {live.first + (at - live.first) / kKvSplit * kKvSplit, kKvSplit};
  }
  if (Planted(PlantedFault::kSplitByCount)) {
    const int32_t count = live.end - live.first;
    const int32_t splits = (count + kKvSplit - 1) / kKvSplit;
    return {at, (count + splits - 1) / splits};
  }
  return {at / kKvSplit * kKvSplit, kKvSplit};
}

}  // namespace

void Attend(std::span<const float> query, const KvRows& rows, LiveKeys live, float scale,
            std::span<float> out) {
  std::vector<SplitResult> splits;
  for (int32_t at = live.first; at < live.end;) {
    const SplitRange range = SplitAt(at, live);
    const int32_t end = std::min(live.end, range.begin + range.length);
    splits.push_back(Planted(PlantedFault::kOnlineMaximum)
                         ? AttendOnline(query, rows, {at, end}, scale)
                         : AttendSplit(query, rows, range.begin, {at, end}, scale));
    at = end;
  }
  if (Planted(PlantedFault::kCombineBackwards)) std::reverse(splits.begin(), splits.end());
  float maximum = -std::numeric_limits<float>::infinity();
  for (const SplitResult& split : splits) maximum = max_select(split.maximum, maximum);
  float sum = 0.0f;
  std::fill(out.begin(), out.end(), 0.0f);
  for (const SplitResult& split : splits) {
    const float weight = Exp(sub_rn(split.maximum, maximum));
    sum = fma_rn(weight, split.weight_sum, sum);
    for (size_t d = 0; d < out.size(); ++d) {
      out[d] = fma_rn(weight, split.weighted_values[d], out[d]);
    }
  }
  for (float& value : out) value = div_rn(value, sum);
}

}  // namespace reenact::local_engine
