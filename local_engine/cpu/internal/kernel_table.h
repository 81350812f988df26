// What one instruction set offers: the inner loops, on plain pointers. Files compiled for an
// instruction set include nothing of the standard library that has code in its headers, or the
// linker could hand such code to a program that runs on an older processor.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_KERNEL_TABLE_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_KERNEL_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "local_engine/cpu/internal/panel_layout.h"

namespace reenact::local_engine {

// Rows of activations times one panel of weights. `x` and `panel` are in the packed forms that
// matrix.h draws; y gets `rows` x `outputs` values.
struct ProductTile {
  const void* x = nullptr;
  const void* panel = nullptr;
  size_t dim = 0;  // K, unpadded.
  int rows = 0;    // 1 ... kMaxTileRows
  int outputs = 0;
  const float* row_scales = nullptr;  // [outputs], of W8A8 only.
  const float* bias = nullptr;        // [outputs] or null.
  float* y = nullptr;
  size_t y_stride = 0;  // Floats from one row of y to the next.
};

// One activation row, arranged by PackLanes, times `outputs` weight rows in place.
struct InPlaceRows {
  const float* x = nullptr;
  const void* const* weights = nullptr;  // [outputs]
  size_t dim = 0;
  int outputs = 0;
  const float* bias = nullptr;
  float* y = nullptr;
};

// Source rows that PackX arranges for a tile.
struct ActivationRows {
  const float* x = nullptr;
  size_t stride = 0;
  size_t dim = 0;
  int rows = 0;
};

struct AttentionQuery {
  const float* query = nullptr;  // [head_dim]
  float* out = nullptr;          // [head_dim]
  int32_t first = 0;             // Live keys: first <= position < end.
  int32_t end = 0;
};

// Queries over one KV head.
struct AttentionWork {
  const AttentionQuery* queries = nullptr;
  int query_count = 0;
  const void* const* blocks = nullptr;  // Of kv_block_layout.h; block i begins at position 32 i.
  size_t head_dim = 0;
  float scale = 0;
  // For each split that a query sees, kMaxAttentionQueries times 2 + the padded head_dim.
  float* scratch = nullptr;
};

inline constexpr int kMaxAttentionQueries = 8;  // That are computed together.

struct KernelTable {
  const char* name;

  int max_tile_rows;  // At most kMaxTileRows.

  void (*multiply_f32)(const ProductTile&);
  void (*multiply_f16)(const ProductTile&);
  void (*multiply_bf16)(const ProductTile&);

  void (*in_place_f32)(const InPlaceRows&);
  void (*in_place_f16)(const InPlaceRows&);
  void (*in_place_bf16)(const InPlaceRows&);

  int max_byte_rows;  // Of a tile of quantised weights.
  void (*multiply_q8)(const ProductTile&);
  void (*multiply_w8a8)(const ProductTile&);
  void (*quantise)(const float* x, size_t dim, size_t group_size, int8_t* values, float* scales);
  void (*pack_q8)(const ActivationRows&, int32_t* packed);
  void (*pack_w8a8)(const ActivationRows&, int32_t* packed);

  void (*attend_f32)(const AttentionWork&);
  void (*attend_f16)(const AttentionWork&);
  void (*attend_bf16)(const AttentionWork&);

  // One row each; see row_operations.h.
  void (*rms_norm)(const float* x, const float* weight, size_t dim, float epsilon, float* y);
  void (*rotate)(const float* cos, const float* sin, size_t half_dim, float* head);
  void (*silu_mul)(const float* gate, const float* up, size_t count, float* out);
  void (*add)(const float* delta, size_t count, float* x);
  void (*round_f16)(float* x, size_t count);
  void (*round_bf16)(float* x, size_t count);
  bool (*is_finite)(const float* x, size_t count);
  float (*largest)(const float* x, size_t count);
  float (*sum_of_exp_chunk)(const float* logits, size_t count, float maximum);

  // For benchmarks.
  float (*fma_probe)(size_t iterations);
  size_t fma_probe_flops;  // Of one iteration.

  // [32 classes, bit-reversed][chunks of 64][even, odd][rows].
  void (*pack_x)(const ActivationRows&, float* packed);
  // [chunks of 64][even, odd][32 classes].
  void (*pack_lanes)(const float* x, size_t dim, float* packed);
};

const KernelTable& KernelsPlain();
const KernelTable& KernelsPlainFma();
const KernelTable& KernelsAvx2();
const KernelTable& KernelsAvx512();
const KernelTable& KernelsNeon();

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_KERNEL_TABLE_H_
