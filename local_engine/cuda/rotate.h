// What happens to queries, keys and values between their projections and attention.

#ifndef REENACT_LOCAL_ENGINE_CUDA_ROTATE_H_
#define REENACT_LOCAL_ENGINE_CUDA_ROTATE_H_

#include <cstdint>

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/kv_cache.h"

namespace reenact::local_engine {

// Rows of a step that attention takes: where each one stands, and in which pages its sequence lies.
struct StepPositions {
  int row_count = 0;
  const int32_t* positions = nullptr;    // [row_count]
  const int32_t* first_pages = nullptr;  // [row_count], into `pages`
  const int32_t* pages = nullptr;        // Page i of a row's sequence is pages[first_page + i].
};

// What RotateAndStore works on; all of it in device memory.
struct HeadRows {
  float* queries = nullptr;           // [row_count][head_count][head_dim], rotated in place
  const float* keys = nullptr;        // [row_count][kv_head_count][head_dim]
  const float* values = nullptr;      // [row_count][kv_head_count][head_dim]
  const float* query_norm = nullptr;  // [head_dim], or null
  const float* key_norm = nullptr;    // [head_dim], or null
  float epsilon = 0;
  const float* cos = nullptr;  // [positions][head_dim / 2]; as reference/rope.h makes them
  const float* sin = nullptr;
  int head_count = 0;
  int layer = 0;
  int* first_fault = nullptr;  // [row_count]; see finite_check.h
};

// Of every head of a row: RmsNorm where there is one, Rotate of queries and keys; keys and values
// are rounded to the cache type and stored at the row's position.
// Bits: those of reference/rms_norm.h and rope.h, and of narrowing to nearest even.
void RotateAndStore(const StepPositions& step, const HeadRows& heads, const KvCache& cache,
                    CudaDevice& device);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_ROTATE_H_
