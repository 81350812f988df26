// Products of few rows with float weights: for decode, where the time is that of reading the
// weights once.
//
// A block computes one panel of 32 outputs for up to kRows rows. A lane is an output; a warp takes
// four neighbouring classes, whose chains stay in registers from the first k to the last. The rows
// are brought into shared memory a slab at a time, in the order in which the classes read them.
// Sums of classes meet along the halving tree: those of a warp in its registers, those of the eight
// warps in shared memory.

#ifndef REENACT_LOCAL_ENGINE_CUDA_ROW_PRODUCT_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_ROW_PRODUCT_CUH_

#include "local_engine/cuda/product_epilogue.cuh"
#include "local_engine/cuda/weight_types.cuh"

namespace reenact::local_engine {

inline constexpr int kRowThreads = 256;
inline constexpr int kRowWarps = kRowThreads / kWarpLanes;
inline constexpr int kWarpClasses = kDotClasses / kRowWarps;

// What a block computes. Numbers only: with the factors of the norms in it, nvcc 13 keeps it all in
// local memory.
struct RowBlock {
  int matrix = 0;  // With the gate the first of two.
  int panel = 0;   // Of that matrix.
  int first_row = 0;
  int rows_here = 0;
};

// How every product of few rows begins.
template <int kRows, bool kGate>
__device__ __forceinline__ RowBlock BlockOfRows(const ProductArguments& work) {
  RowBlock block;
  block.panel = static_cast<int>(blockIdx.x);
  if (!kGate) block.matrix = MatrixOfPanel(work, &block.panel);
  block.first_row = static_cast<int>(blockIdx.y) * kRows;
  block.rows_here = min(kRows, work.rows.row_count - block.first_row);
  return block;
}

template <int kRows>
struct RowShared {
  static constexpr int kSlabChunks = 128 / kRows;
  // A class's part of a slab, and 16 bytes that spread the classes over the banks.
  static constexpr int kStride = 2 * kSlabChunks + 4;

  ClassSums norm;

  union {
    float x[kRows][kDotClasses][kStride];
    float sums[2][kRowWarps][kRows][kPanelOutputs];
  };
};

// Chunks [first_chunk, ...) of the block's rows into shared memory; what pads the last chunk is
// zero.
template <int kRows>
__device__ __forceinline__ void StageSlab(const ActivationRows& rows, const RowBlock& block,
                                          int first_chunk, const float* inverse,
                                          RowShared<kRows>* shared) {
  const int pairs =
      (kDotChunk / 2) * min(RowShared<kRows>::kSlabChunks, ChunkCount(rows.dim) - first_chunk);
  for (int r = 0; r < block.rows_here; ++r) {
    for (int pair = static_cast<int>(threadIdx.x); pair < pairs; pair += kRowThreads) {
      const int k = first_chunk * kDotChunk + 2 * pair;
      float* to = &shared->x[r][BitReversed(pair % kDotClasses)][pair / kDotClasses * 2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (Planted(DeviceFault::kPaddingUnwritten) && k + i >= rows.dim) continue;
        to[i] =
            k + i < rows.dim ? ActivationAt(rows, block.first_row + r, k + i, inverse[r]) : 0.0f;
      }
    }
  }
}

// One unit of one class: the next links of its chain, of each row.
template <typename Weights, int kRows>
__device__ __forceinline__ void AddUnit(const uint4& unit, const RowShared<kRows>& shared,
                                        int place, int at, int rows_here, float (&acc)[kRows]) {
  float w[Weights::kValues];
  Weights::Widen(unit, w);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (r >= rows_here) break;
    const auto* x = reinterpret_cast<const float4*>(&shared.x[r][place][at]);
#pragma unroll
    for (int i = 0; i < Weights::kValues / 4; ++i) {
      const float4 part = x[i];
      acc[r] = fma_rn(part.x, w[4 * i], acc[r]);
      acc[r] = fma_rn(part.y, w[4 * i + 1], acc[r]);
      acc[r] = fma_rn(part.z, w[4 * i + 2], acc[r]);
      acc[r] = fma_rn(part.w, w[4 * i + 3], acc[r]);
    }
  }
}

// The last unit of a row that fills only `values` of it: what is missing executes nothing.
template <typename Weights, int kRows>
__device__ __forceinline__ void AddLastUnit(const uint4& unit, const RowShared<kRows>& shared,
                                            int place, int at, int values, int rows_here,
                                            float (&acc)[kRows]) {
  float w[Weights::kValues];
  Weights::Widen(unit, w);
#pragma unroll
  for (int i = 0; i < Weights::kValues; ++i) {
    if (i >= values && !Planted(DeviceFault::kPaddingComputed)) break;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r < rows_here) acc[r] = fma_rn(shared.x[r][place][at + i], w[i], acc[r]);
    }
  }
}

// The part of a slab of the warp's classes.
template <typename Weights, int kRows>
__device__ __forceinline__ void AddSlab(const MatrixView& matrix, const RowBlock& block,
                                        int first_chunk, const RowShared<kRows>& shared,
                                        float (&acc)[kWarpClasses][kRows]) {
  constexpr int kUnitChunks = Weights::kValues / 2;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int first_place = static_cast<int>(threadIdx.x) / kWarpLanes * kWarpClasses;
  const int chunks = min(RowShared<kRows>::kSlabChunks, ChunkCount(matrix.input_dim) - first_chunk);
  const uint4* units[kWarpClasses];
#pragma unroll
  for (int c = 0; c < kWarpClasses; ++c) {
    units[c] = matrix.units +
               FloatUnitIndex(matrix.input_dim, Weights::kValueBytes, block.panel, first_place + c,
                              first_chunk / kUnitChunks) +
               lane;
  }
  const int whole_units = chunks / kUnitChunks;
#pragma unroll(kRows == 1 ? 2 : 1)
  for (int u = 0; u < whole_units; ++u) {
    uint4 unit[kWarpClasses];
#pragma unroll
    for (int c = 0; c < kWarpClasses; ++c) unit[c] = LoadConstant(units[c] + u * kPanelOutputs);
#pragma unroll
    for (int c = 0; c < kWarpClasses; ++c) {
      AddUnit<Weights>(unit[c], shared, first_place + c, u * Weights::kValues, block.rows_here,
                       acc[c]);
    }
  }
  const int values_left = 2 * (chunks - whole_units * kUnitChunks);
  if (values_left == 0) return;
#pragma unroll
  for (int c = 0; c < kWarpClasses; ++c) {
    AddLastUnit<Weights>(LoadConstant(units[c] + whole_units * kPanelOutputs), shared,
                         first_place + c, whole_units * Weights::kValues, values_left,
                         block.rows_here, acc[c]);
  }
}

// The sums of all classes from those of the warps, which stand in the order of their places.
template <int kRows>
__device__ __forceinline__ float SumOfWarps(const RowShared<kRows>& shared, int which, int row,
                                            int lane) {
  float v[kRowWarps];
#pragma unroll
  for (int warp = 0; warp < kRowWarps; ++warp) v[warp] = shared.sums[which][warp][row][lane];
#pragma unroll
  for (int step = kRowWarps / 2; step >= 1 && Planted(DeviceFault::kFoldReversed); step /= 2) {
    for (int i = 0; i < step; ++i) v[i] = add_rn(v[i], v[i + step]);
    if (step == 1) return v[0];
  }
#pragma unroll
  for (int step = 1; step < kRowWarps; step *= 2) {
#pragma unroll
    for (int i = 0; i < kRowWarps; i += 2 * step) v[i] = add_rn(v[i], v[i + step]);
  }
  return v[0];
}

template <typename Weights, int kRows, bool kGate>
__global__ void __launch_bounds__(kRowThreads)
    RowProductKernel(const __grid_constant__ ProductArguments work) {
  constexpr int kSums = kGate ? 2 : 1;
  auto* shared = SharedMemory<RowShared<kRows>>();
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const RowBlock block = BlockOfRows<kRows, kGate>(work);
  float inverse[kRows];
  InverseNorms(work.rows, block.first_row, block.rows_here, &shared->norm, inverse);
  float acc[kSums][kWarpClasses][kRows] = {};
  for (int chunk = 0; chunk < ChunkCount(work.rows.dim); chunk += RowShared<kRows>::kSlabChunks) {
    if (chunk > 0 && !Planted(DeviceFault::kSlabBarrierMissing)) __syncthreads();
    StageSlab(work.rows, block, chunk, inverse, shared);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      AddSlab<Weights>(work.matrices[block.matrix + i], block, chunk, *shared, acc[i]);
    }
  }
  __syncthreads();  // The sums stand where the rows did.
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      shared->sums[i][warp][r][lane] =
          add_rn(add_rn(acc[i][0][r], acc[i][1][r]), add_rn(acc[i][2][r], acc[i][3][r]));
    }
  }
  __syncthreads();
  if (warp >= block.rows_here) return;
  const float sum = SumOfWarps(*shared, 0, warp, lane);
  const float up = kSums == 2 ? SumOfWarps(*shared, 1, warp, lane) : 0.0f;
  Finish<kGate>(work, block.matrix, block.first_row + warp, block.panel * kPanelOutputs + lane, sum,
                up);
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_ROW_PRODUCT_CUH_
