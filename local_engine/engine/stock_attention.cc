#include "local_engine/engine/stock_attention.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "local_engine/numerics/exp_log.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

void AppendParts(int32_t begin, int32_t end, int32_t count, std::vector<int32_t>* ends) {
  if (begin >= end) return;
  const int32_t length = (end - begin + count - 1) / count;
  for (int32_t at = begin; at < end; at += length) ends->push_back(std::min(end, at + length));
}

}  // namespace

std::vector<int32_t> StockPartEnds(LiveKeys live, const StockSettings& settings) {
  std::vector<int32_t> ends;
  const int32_t edge = std::clamp(settings.cached_keys, live.first, live.end);
  AppendParts(live.first, edge, settings.kv_splits, &ends);
  AppendParts(edge, live.end, settings.kv_splits, &ends);
  return ends;
}

void StockAttend(std::span<const float> query, const KvRows& rows, LiveKeys live, float scale,
                 std::span<const int32_t> part_ends, std::span<float> out) {
  float maximum = -std::numeric_limits<float>::infinity();
  float sum = 0.0f;
  std::ranges::fill(out, 0.0f);
  std::vector<float> weights;
  std::vector<float> part_values(out.size());
  int32_t begin = live.first;
  for (int32_t end : part_ends) {
    weights.clear();
    float part_maximum = -std::numeric_limits<float>::infinity();
    for (int32_t j = begin; j < end; ++j) {
      const float* key = rows.keys + static_cast<size_t>(j) * rows.stride;
      float score = 0.0f;
      for (size_t d = 0; d < query.size(); ++d) score = add_rn(score, mul_rn(query[d], key[d]));
      weights.push_back(mul_rn(score, scale));
      part_maximum = max_select(weights.back(), part_maximum);
    }
    float part_sum = 0.0f;
    std::ranges::fill(part_values, 0.0f);
    for (int32_t j = begin; j < end; ++j) {
      const float weight = Exp(sub_rn(weights[static_cast<size_t>(j - begin)], part_maximum));
      const float rounded = widen_bf16(narrow_to_bf16(weight));
      const float* value = rows.values + static_cast<size_t>(j) * rows.stride;
      part_sum = add_rn(part_sum, weight);
      for (size_t d = 0; d < out.size(); ++d) {
        part_values[d] = add_rn(part_values[d], mul_rn(rounded, value[d]));
      }
    }
    const float new_maximum = max_select(part_maximum, maximum);
    const float kept = Exp(sub_rn(maximum, new_maximum));
    const float added = Exp(sub_rn(part_maximum, new_maximum));
    sum = add_rn(mul_rn(sum, kept), mul_rn(part_sum, added));
    for (size_t d = 0; d < out.size(); ++d) {
      out[d] = add_rn(mul_rn(out[d], kept), mul_rn(part_values[d], added));
    }
    maximum = new_maximum;
    begin = end;
  }
  for (float& value : out) value = div_rn(value, sum);
}

}  // namespace reenact::local_engine
