// Attention of profile "stock": the same keys, cut where the load says.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_STOCK_ATTENTION_H_
#define REENACT_LOCAL_ENGINE_ENGINE_STOCK_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "local_engine/engine/stock_schedule.h"
#include "local_engine/reference/attention.h"

namespace reenact::local_engine {

// Where the parts of a row's live keys end: those before settings.cached_keys are one chunk, those
// from there on another, and each is cut into kv_splits parts of equal length.
std::vector<int32_t> StockPartEnds(LiveKeys live, const StockSettings& settings);

// One query head over its live keys, part by part: the maximum, exponentials against it, their sum,
// and values weighted by exponentials rounded to bf16; parts are combined in their order.
// Shapes: query and out [head_dim].
void StockAttend(std::span<const float> query, const KvRows& rows, LiveKeys live, float scale,
                 std::span<const int32_t> part_ends, std::span<float> out);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_STOCK_ATTENTION_H_
