// Products of many rows with float weights: for prefill, where the time is that of the arithmetic.
//
// A block computes 64 rows by 64 outputs, a thread 8 by 4 of them, one class of k after the other
// in bit-reversed order. The chains of a class stay in registers; its sums then go onto a stack
// that is a binary counter: two neighbours of one size become one of twice the size, which is the
// halving tree. A sum of K values thus costs one accumulator in registers, not 32, and all the
// exchanges between threads that a lane for each class would need are gone.
//
// Rows are arranged by ArrangeRowsKernel beforehand, [tile of 64 rows][place of the class][k of the
// class][64 rows], so that what a block reads next always follows.

#ifndef REENACT_LOCAL_ENGINE_CUDA_TILE_PRODUCT_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_TILE_PRODUCT_CUH_

#include "local_engine/cuda/product_epilogue.cuh"
#include "local_engine/cuda/weight_types.cuh"

namespace reenact::local_engine {

inline constexpr int kTileRows = 64;
inline constexpr int kTileOutputs = 64;
inline constexpr int kTileThreads = 128;
inline constexpr int kThreadRows = 8;
inline constexpr int kThreadOutputs = 4;
inline constexpr int kTileDepth = 16;  // Of k, brought into shared memory at once.
inline constexpr int kArrangeThreads = 256;

// Values of K in the arranged rows of one class.
REENACT_NUMERICS_FN int ClassDepth(int dim) {
  return 2 * ChunkCount(dim);
}

REENACT_NUMERICS_FN size_t ArrangedTileFloats(int dim) {
  return static_cast<size_t>(kTileRows) * kDotClasses * static_cast<size_t>(ClassDepth(dim));
}

struct ArrangeShared {
  float x[kDotChunk][kTileRows + 1];  // One more spreads the columns over the banks.
};

// A block takes one chunk of 64 rows. Rows that are missing in the last tile are zero.
[[maybe_unused]] static __global__ void __launch_bounds__(kArrangeThreads)
    ArrangeRowsKernel(const float* x, int rows, int dim, float* arranged) {
  auto* shared = SharedMemory<ArrangeShared>();
  const int chunk = static_cast<int>(blockIdx.x);
  const int tile = static_cast<int>(blockIdx.y);
  for (int i = static_cast<int>(threadIdx.x); i < kDotChunk * kTileRows; i += kArrangeThreads) {
    const int row = tile * kTileRows + i / kDotChunk;
    const int k = chunk * kDotChunk + i % kDotChunk;
    const bool there = row < rows && k < dim;
    shared->x[i % kDotChunk][i / kDotChunk] =
        there ? x[static_cast<size_t>(row) * static_cast<size_t>(dim) + static_cast<size_t>(k)]
              : 0.0f;
  }
  __syncthreads();
  float* to = arranged + static_cast<size_t>(tile) * ArrangedTileFloats(dim);
  for (int i = static_cast<int>(threadIdx.x); i < kDotChunk * kTileRows; i += kArrangeThreads) {
    const int k = i / kTileRows;
    const int place = BitReversed(k / 2);
    const int depth = place * ClassDepth(dim) + 2 * chunk + k % 2;
    to[static_cast<size_t>(depth) * kTileRows + static_cast<size_t>(i % kTileRows)] =
        shared->x[k][i % kTileRows];
  }
}

struct TileShared {
  float4 x[2][kTileDepth][kTileRows / 4];
  float w[2][kTileDepth][kTileOutputs];
};

// What a thread carries from device memory to shared memory: its part of the next 16 k.
template <typename Weights>
struct TilePart {
  static constexpr int kRowUnits = kTileDepth * kTileRows / 4 / kTileThreads;
  static constexpr int kWeightUnits = kTileDepth * kTileOutputs / Weights::kValues / kTileThreads;

  float4 x[kRowUnits];
  uint4 w[kWeightUnits];

  // k [depth, depth + 16) of the class at `place`; beyond the class there are zeros.
  __device__ __forceinline__ void Load(const float* arranged, const MatrixView& matrix,
                                       int first_panel, int place, int depth) {
    const int end = ClassDepth(matrix.input_dim);
#pragma unroll
    for (int i = 0; i < kRowUnits; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * kTileThreads;
      const int k = depth + at / (kTileRows / 4);
      x[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (k < end) {
        const auto* rows = reinterpret_cast<const float4*>(arranged);
        x[i] = LoadConstant(rows + static_cast<size_t>(place * end + k) * (kTileRows / 4) +
                            at % (kTileRows / 4));
      }
    }
#pragma unroll
    for (int i = 0; i < kWeightUnits; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * kTileThreads;
      const int panel = first_panel + at / kPanelOutputs % (kTileOutputs / kPanelOutputs);
      const int unit = depth / Weights::kValues + at / kTileOutputs;
      w[i] = make_uint4(0, 0, 0, 0);
      if (unit < UnitCount(matrix.input_dim, Weights::kValueBytes) &&
          panel * kPanelOutputs < matrix.output_dim) {
        w[i] = LoadConstant(
            matrix.units +
            FloatUnitIndex(matrix.input_dim, Weights::kValueBytes, panel, place, unit) +
            at % kPanelOutputs);
      }
    }
  }

  __device__ __forceinline__ void Store(int buffer, TileShared* shared) const {
#pragma unroll
    for (int i = 0; i < kRowUnits; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * kTileThreads;
      shared->x[buffer][at / (kTileRows / 4)][at % (kTileRows / 4)] = x[i];
    }
#pragma unroll
    for (int i = 0; i < kWeightUnits; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * kTileThreads;
      float widened[Weights::kValues];
      Weights::Widen(w[i], widened);
#pragma unroll
      for (int v = 0; v < Weights::kValues; ++v) {
        shared->w[buffer][at / kTileOutputs * Weights::kValues + v][at % kTileOutputs] = widened[v];
      }
    }
  }
};

using TileSums = float[kThreadRows][kThreadOutputs];

// The next `depth` links of every chain of the thread.
__device__ __forceinline__ void AddTile(const TileShared& shared, int buffer, int depth,
                                        TileSums& acc) {
  const int row_unit = static_cast<int>(threadIdx.x) / 16 * (kThreadRows / 4);
  const int output = static_cast<int>(threadIdx.x) % 16 * kThreadOutputs;
#pragma unroll
  for (int k = 0; k < kTileDepth; ++k) {
    if (k >= depth) break;
    const float4 low = shared.x[buffer][k][row_unit];
    const float4 high = shared.x[buffer][k][row_unit + 1];
    const float4 w = *reinterpret_cast<const float4*>(&shared.w[buffer][k][output]);
    const float rows[kThreadRows] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    const float outputs[kThreadOutputs] = {w.x, w.y, w.z, w.w};
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
#pragma unroll
      for (int n = 0; n < kThreadOutputs; ++n) {
        acc[r][n] = fma_rn(rows[r], outputs[n], acc[r][n]);
      }
    }
  }
}

// Puts the sums of the class at `place` onto the stack, which holds one entry for each 1 in the
// binary form of `place`, and clears them. Entries lie in the thread's own memory.
__device__ __forceinline__ void PushClass(int place, TileSums (&stack)[5], TileSums& acc) {
  int level = 0;
  for (; (place >> level) & 1; ++level) {
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
#pragma unroll
      for (int n = 0; n < kThreadOutputs; ++n) {
        acc[r][n] = add_rn(stack[level][r][n], acc[r][n]);
      }
    }
  }
  if (level == 5) return;  // All 32: the sum.
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) {
#pragma unroll
    for (int n = 0; n < kThreadOutputs; ++n) {
      stack[level][r][n] = acc[r][n];
      acc[r][n] = 0.0f;
    }
  }
}

// One chain over all k is no profile: it is what the order of n1 is measured against.
enum class TileOrder { kWritten, kFree };

template <typename Weights, TileOrder kOrder = TileOrder::kWritten>
__global__ void __launch_bounds__(kTileThreads)
    TileProductKernel(const __grid_constant__ ProductArguments work, const float* arranged) {
  auto* shared = SharedMemory<TileShared>();
  const MatrixView& matrix = work.matrices[0];
  const int first_panel = static_cast<int>(blockIdx.x) * (kTileOutputs / kPanelOutputs);
  const int tile = static_cast<int>(blockIdx.y);
  arranged += static_cast<size_t>(tile) * ArrangedTileFloats(matrix.input_dim);
  const int class_depth = ClassDepth(matrix.input_dim);
  const int steps = CountOf(class_depth, kTileDepth);

  TilePart<Weights> part;
  part.Load(arranged, matrix, first_panel, 0, 0);
  part.Store(0, shared);
  __syncthreads();
  TileSums acc = {};
  TileSums stack[5];
  for (int at = 0; at < kDotClasses * steps; ++at) {
    const int next = at + 1;
    if (next < kDotClasses * steps) {
      part.Load(arranged, matrix, first_panel, next / steps, next % steps * kTileDepth);
    }
    AddTile(*shared, at % 2, min(kTileDepth, class_depth - at % steps * kTileDepth), acc);
    if (next < kDotClasses * steps)
      part.Store(Planted(DeviceFault::kOneBuffer) ? at % 2 : next % 2, shared);
    if (kOrder == TileOrder::kWritten && next % steps == 0) PushClass(at / steps, stack, acc);
    __syncthreads();
  }
  const int first_row = tile * kTileRows + static_cast<int>(threadIdx.x) / 16 * kThreadRows;
  const int output =
      first_panel * kPanelOutputs + static_cast<int>(threadIdx.x) % 16 * kThreadOutputs;
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) {
    if (first_row + r >= work.rows.row_count) break;
#pragma unroll
    for (int n = 0; n < kThreadOutputs; ++n) {
      Finish<false>(work, 0, first_row + r, output + n, acc[r][n], 0.0f);
    }
  }
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_TILE_PRODUCT_CUH_
