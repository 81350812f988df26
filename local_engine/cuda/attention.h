// Attention over paged keys and values, for decode and prefill alike.

#ifndef REENACT_LOCAL_ENGINE_CUDA_ATTENTION_H_
#define REENACT_LOCAL_ENGINE_CUDA_ATTENTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/device_memory.h"
#include "local_engine/cuda/kv_cache.h"
#include "local_engine/cuda/rotate.h"

namespace reenact::local_engine {

inline constexpr int kMostAttentionHeadDim = 256;

// Adjoining rows of one sequence and one split of 256 positions: what a block works on, for one KV
// head.
struct AttentionTile {
  int32_t first_row = 0;
  int32_t row_count = 0;
  int32_t split = 0;
};

// How a step's rows are spread over tiles, on the host and on the device. It follows the rows'
// positions and has no say in the order of a sum.
class AttentionPlan {
 public:
  // Rows of equal first page are one sequence. `group`: query heads that share a KV head.
  void Make(std::span<const int32_t> positions, std::span<const int32_t> first_pages, int group,
            CudaDevice& device);

  const AttentionTile* tiles() const { return device_tiles_.As<AttentionTile>(); }

  int tile_count() const { return static_cast<int>(tiles_.size()); }

  int split_count() const { return split_count_; }  // The most that a row sees.

 private:
  std::vector<AttentionTile> tiles_;
  int split_count_ = 0;
  DeviceMemory device_tiles_;
};

struct AttentionRows {
  const float* queries = nullptr;  // [row_count][head_count][head_dim]
  float* out = nullptr;            // The same, none of the queries.
  int head_count = 0;
  int layer = 0;
  int window = 0;  // Positions that a row sees, its own among them; 0: all before it.
  float scale = 0;
};

// The Attend of reference/attention.h for every head of every row, whose own keys are stored.
// Bits: a function of a query, its live keys and their values.
void AttendRows(const StepPositions& step, const AttentionRows& rows, const AttentionPlan& plan,
                const KvCache& cache, CudaDevice& device);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_ATTENTION_H_
