// What profile "stock" lets a schedule decide, and the record of it. The profile imitates
// production kernels, whose sums follow the load: the same request has other bits in other company.
// Nothing of it is hidden: the settings of every step are recorded, and a request that is given its
// record computes the same bits again, alone.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_STOCK_SCHEDULE_H_
#define REENACT_LOCAL_ENGINE_ENGINE_STOCK_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::local_engine {

// The bits of a position are a function of the tokens, of the keys and values before it, and of
// these.
struct StockSettings {
  int32_t step_rows = 0;   // Rows of the step, all sequences together: what most of the rest obeys.
  int32_t split_k = 1;     // Parts of K in a matrix product, summed one after the other.
  int32_t norm_block = 1;  // Classes of RMSNorm's sum; a power of two.
  int32_t kv_splits = 1;   // Parts of each chunk of keys in attention.
  int32_t cached_keys = 0;  // Keys found in the prefix cache: a chunk of their own.

  bool operator==(const StockSettings&) const = default;
};

// Adjoining positions of one sequence that were computed under the same settings.
struct StockStep {
  int32_t first_position = 0;  // Before the end of the last step: computed again.
  int32_t position_count = 0;
  StockSettings settings;

  bool operator==(const StockStep&) const = default;
};

// Of one sample, in the order of the computation. Positions that the prefix cache gave stand in it
// as their first owner computed them.
using StockSchedule = std::vector<StockStep>;

// The load of a step, for one of its sequences.
struct StockLoad {
  int32_t step_rows = 0;
  int32_t step_sequences = 0;
  int32_t cached_keys = 0;
};

// As production kernels choose: few rows split K, and many rows shrink the block of a norm; few
// sequences split the keys.
StockSettings ChooseStockSettings(const StockLoad& load);

// Adds positions, to the last step where they continue it.
void AppendToSchedule(const StockStep& step, StockSchedule* schedule);

// The part of a schedule that computed the positions [begin, end) last, from step `first_step` on,
// where each is computed once.
StockSchedule PartOfSchedule(const StockSchedule& schedule, size_t first_step, int32_t begin,
                             int32_t end);

// [[first_position, position_count, step_rows, split_k, norm_block, kv_splits, cached_keys], ...]
std::string StockScheduleToJson(const StockSchedule& schedule);

// InvalidArgument says what is wrong: it is no such array, or CheckStockSchedule refuses it.
absl::StatusOr<StockSchedule> StockScheduleFromJson(std::string_view json);

// InvalidArgument for settings out of their ranges and positions that nothing before them reaches.
absl::Status CheckStockSchedule(const StockSchedule& schedule);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_STOCK_SCHEDULE_H_
