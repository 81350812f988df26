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

struct KernelTable {
  const char* name;

  int max_tile_rows;  // At most kMaxTileRows.

  void (*multiply_f32)(const ProductTile&);
  void (*multiply_f16)(const ProductTile&);
  void (*multiply_bf16)(const ProductTile&);

  void (*in_place_f32)(const InPlaceRows&);
  void (*in_place_f16)(const InPlaceRows&);
  void (*in_place_bf16)(const InPlaceRows&);

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
