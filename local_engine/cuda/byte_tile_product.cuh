// Products of many rows with quantised weights. QuantiseRowsKernel quantises the rows beforehand;
// a block computes 64 rows by 64 outputs, a thread 8 by 4, a group of 32 k at a time.

#ifndef REENACT_LOCAL_ENGINE_CUDA_BYTE_TILE_PRODUCT_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_BYTE_TILE_PRODUCT_CUH_

#include "local_engine/cuda/byte_row_product.cuh"
#include "local_engine/cuda/tile_product.cuh"

namespace reenact::local_engine {

// Quantised rows: [row][units of 16], and [row][groups] scales of Q8_0 or [row] of I8.
struct QuantisedRows {
  uint4* x = nullptr;
  float* scales = nullptr;
};

struct QuantiseShared {
  float largest[kRowWarps];
};

// A block a row, of rows that are normalised already. `kGroups`: a scale a group, else one a row.
template <bool kGroups>
__global__ void __launch_bounds__(kRowThreads)
    QuantiseRowsKernel(const __grid_constant__ ActivationRows rows, QuantisedRows to) {
  auto* shared = SharedMemory<QuantiseShared>();
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int row = static_cast<int>(blockIdx.x);
  const int groups = CountOf(rows.dim, kQ8GroupSize);
  const int row_words = ByteRowUnits(rows.dim) * (kUnitBytes / 4);
  auto* words =
      reinterpret_cast<uint32_t*>(to.x) + static_cast<size_t>(row) * static_cast<size_t>(row_words);
  float scale = 0.0f;
  if (!kGroups) {
    scale = QuantisedScale(LargestOfRow(rows, row, 0.0f, shared->largest));
    if (threadIdx.x == 0) to.scales[row] = scale;
  }
  for (int group = warp; group < groups; group += kRowWarps) {
    const int k = group * kQ8GroupSize + lane;
    const float x = k < rows.dim ? ActivationAt(rows, row, k, 0.0f) : 0.0f;
    if (kGroups) {
      scale = QuantisedScale(WarpMaximum(abs_bits(x)));
      if (lane == 0) {
        to.scales[static_cast<size_t>(row) * static_cast<size_t>(groups) +
                  static_cast<size_t>(group)] = scale;
      }
    }
    uint32_t word = ByteOfWord(QuantisedValue(x, scale), lane % 4);
    word |= OfLaneXor(word, 1);
    word |= OfLaneXor(word, 2);
    const int at = group * (kQ8GroupSize / 4) + lane / 4;
    if (lane % 4 == 0 && at < row_words) words[at] = word;
  }
}

struct ByteTileShared {
  uint4 x[kTileRows][2];
  uint4 w[kTileOutputs][2];
  float x_scales[kTileRows];
  float w_scales[kTileOutputs];
};

// Group `group` of the block's rows and outputs; zeros where there are none.
template <bool kGroups>
__device__ __forceinline__ void StageByteTile(const ProductArguments& work,
                                              const QuantisedRows& rows, int first_row,
                                              int first_panel, int group, ByteTileShared* shared) {
  const MatrixView& matrix = work.matrices[0];
  const int row_units = ByteRowUnits(matrix.input_dim);
  const int index = static_cast<int>(threadIdx.x) / 2;  // Of a row and of an output.
  const int half = static_cast<int>(threadIdx.x) % 2;
  const int unit = group * 2 + half;
  const int row = first_row + index;
  const bool row_there = row < work.rows.row_count && unit < row_units;
  shared->x[index][half] =
      row_there
          ? LoadConstant(rows.x + static_cast<size_t>(row) * static_cast<size_t>(row_units) + unit)
          : make_uint4(0, 0, 0, 0);
  const int output = first_panel * kPanelOutputs + index;
  const bool output_there = output < matrix.output_dim && unit < row_units;
  const size_t place = Q8GroupIndex(matrix.input_dim, output / kPanelOutputs, group) +
                       static_cast<size_t>(output % kPanelOutputs);
  uint4 w = make_uint4(0, 0, 0, 0);
  if (output_there) {
    w = LoadConstant(matrix.units +
                     (kGroups ? 2 * place + static_cast<size_t>(half)
                              : static_cast<size_t>(output) * static_cast<size_t>(row_units) +
                                    static_cast<size_t>(unit)));
  }
  shared->w[index][half] = w;
  if (kGroups && half == 0) {
    const int groups = Q8GroupCount(matrix.input_dim);
    shared->x_scales[index] =
        row_there ? rows.scales[static_cast<size_t>(row) * static_cast<size_t>(groups) +
                                static_cast<size_t>(group)]
                  : 0.0f;
    shared->w_scales[index] = output_there ? WidenF16(matrix.scales[place]) : 0.0f;
  }
}

__device__ __forceinline__ int32_t TileDot(const ByteTileShared& shared, int row, int output,
                                           int32_t sum) {
  sum = DotOfUnits(shared.x[row][0], shared.w[output][0], sum);
  return DotOfUnits(shared.x[row][1], shared.w[output][1], sum);
}

__device__ __forceinline__ void FinishTile(const ProductArguments& work, int first_row, int output,
                                           const TileSums& sums) {
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) {
    if (first_row + r >= work.rows.row_count) break;
#pragma unroll
    for (int n = 0; n < kThreadOutputs; ++n) {
      Finish<false>(work, 0, first_row + r, output + n, sums[r][n], 0.0f);
    }
  }
}

// Classes in the order 0, 2, 1, 3: (a0 + a2) + (a1 + a3) needs two sums beside the running one.
static __global__ void __launch_bounds__(kTileThreads)
    Q8TileProductKernel(const __grid_constant__ ProductArguments work, QuantisedRows rows) {
  auto* shared = SharedMemory<ByteTileShared>();
  const int first_panel = static_cast<int>(blockIdx.x) * (kTileOutputs / kPanelOutputs);
  const int first_row = static_cast<int>(blockIdx.y) * kTileRows;
  const int row = static_cast<int>(threadIdx.x) / 16 * kThreadRows;
  const int output = static_cast<int>(threadIdx.x) % 16 * kThreadOutputs;
  TileSums of_pairs[2] = {};
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
#pragma unroll
    for (int member = 0; member < 2; ++member) {
      TileSums acc = {};
      for (int group = pair + 2 * member; group < Q8GroupCount(work.matrices[0].input_dim);
           group += kQ8Classes) {
        __syncthreads();
        StageByteTile<true>(work, rows, first_row, first_panel, group, shared);
        __syncthreads();
#pragma unroll
        for (int r = 0; r < kThreadRows; ++r) {
#pragma unroll
          for (int n = 0; n < kThreadOutputs; ++n) {
            const auto sum = static_cast<float>(TileDot(*shared, row + r, output + n, 0));
            acc[r][n] = fma_rn(sum, mul_rn(shared->x_scales[row + r], shared->w_scales[output + n]),
                               acc[r][n]);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
#pragma unroll
        for (int n = 0; n < kThreadOutputs; ++n) {
          of_pairs[pair][r][n] = member == 0 ? acc[r][n] : add_rn(of_pairs[pair][r][n], acc[r][n]);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) {
#pragma unroll
    for (int n = 0; n < kThreadOutputs; ++n) {
      of_pairs[0][r][n] = add_rn(of_pairs[0][r][n], of_pairs[1][r][n]);
    }
  }
  FinishTile(work, first_row + row, first_panel * kPanelOutputs + output, of_pairs[0]);
}

static __global__ void __launch_bounds__(kTileThreads)
    W8A8TileProductKernel(const __grid_constant__ ProductArguments work, QuantisedRows rows) {
  auto* shared = SharedMemory<ByteTileShared>();
  const MatrixView& matrix = work.matrices[0];
  const int first_panel = static_cast<int>(blockIdx.x) * (kTileOutputs / kPanelOutputs);
  const int first_row = static_cast<int>(blockIdx.y) * kTileRows;
  const int row = static_cast<int>(threadIdx.x) / 16 * kThreadRows;
  const int output = static_cast<int>(threadIdx.x) % 16 * kThreadOutputs;
  int32_t sums[kThreadRows][kThreadOutputs] = {};
  for (int group = 0; group < CountOf(matrix.input_dim, kQ8GroupSize); ++group) {
    __syncthreads();
    StageByteTile<false>(work, rows, first_row, first_panel, group, shared);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
#pragma unroll
      for (int n = 0; n < kThreadOutputs; ++n) {
        sums[r][n] = TileDot(*shared, row + r, output + n, sums[r][n]);
      }
    }
  }
  TileSums values = {};
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) {
    if (first_row + row + r >= work.rows.row_count) break;
#pragma unroll
    for (int n = 0; n < kThreadOutputs; ++n) {
      values[r][n] = W8A8Value(matrix, first_panel * kPanelOutputs + output + n, sums[r][n],
                               rows.scales[first_row + row + r]);
    }
  }
  FinishTile(work, first_row + row, first_panel * kPanelOutputs + output, values);
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_BYTE_TILE_PRODUCT_CUH_
