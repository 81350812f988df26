// Products of few rows with quantised weights. The rows are quantised on the way into shared
// memory, by every block again: that costs less than a launch.
//
// Q8_0: a warp takes one class of groups and 16 outputs of the panel, two lanes an output, half a
// group each. I8: a warp takes four outputs, its lanes the k. Sums of bytes are exact, so only the
// chains over groups have an order.

#ifndef REENACT_LOCAL_ENGINE_CUDA_BYTE_ROW_PRODUCT_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_BYTE_ROW_PRODUCT_CUH_

#include "local_engine/cuda/product_epilogue.cuh"
#include "local_engine/cuda/row_product.cuh"

namespace reenact::local_engine {

template <int kRows>
struct ByteRowShared {
  static constexpr int kSlab = 32768 / kRows;  // Values of a row at once.

  ClassSums norm;
  float largest[kRowWarps];

  union {
    struct {
      uint4 x[kRows][kSlab / kUnitBytes];
      float scales[kRows][kSlab / kQ8GroupSize];  // Of Q8_0.
    };

    float sums[2][kQ8Classes][kRows][kPanelOutputs];
  };
};

// Quantises values [first, first + kSlab) of each row by groups of 32, a warp a group.
template <int kRows>
__device__ __forceinline__ void StageGroups(const ActivationRows& rows, const RowBlock& block,
                                            int first, const float* inverse,
                                            ByteRowShared<kRows>* shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int groups = min(ByteRowShared<kRows>::kSlab, rows.dim - first) / kQ8GroupSize;
  for (int r = 0; r < block.rows_here; ++r) {
    for (int group = static_cast<int>(threadIdx.x) / kWarpLanes; group < groups;
         group += kRowWarps) {
      const float x =
          ActivationAt(rows, block.first_row + r, first + group * kQ8GroupSize + lane, inverse[r]);
      float scale = QuantisedScale(WarpMaximum(abs_bits(x)));
      if (Planted(DeviceFault::kScaleOfFirstRow) && r > 0) scale = shared->scales[0][group];
      uint32_t word = ByteOfWord(QuantisedValue(x, scale), lane % 4);
      word |= OfLaneXor(word, 1);
      word |= OfLaneXor(word, 2);
      if (lane % 4 == 0) {
        reinterpret_cast<uint32_t*>(&shared->x[r][group * 2])[lane / 4] = word;
      }
      if (lane == 0) shared->scales[r][group] = scale;
    }
  }
}

// The largest magnitude of a row, in every thread. Ends with a barrier of the block after which
// `largest` may be written again once it was passed.
__device__ __forceinline__ float LargestOfRow(const ActivationRows& rows, int row, float inverse,
                                              float* largest) {
  float magnitude = 0.0f;
  for (int k = static_cast<int>(threadIdx.x); k < rows.dim; k += kRowThreads) {
    magnitude = max_select(abs_bits(ActivationAt(rows, row, k, inverse)), magnitude);
  }
  magnitude = WarpMaximum(magnitude);
  __syncthreads();  // The last row's was read.
  if (threadIdx.x % kWarpLanes == 0) largest[threadIdx.x / kWarpLanes] = magnitude;
  __syncthreads();
  magnitude = largest[0];
#pragma unroll
  for (int warp = 1; warp < kRowWarps; ++warp) magnitude = max_select(largest[warp], magnitude);
  return magnitude;
}

// Quantises values [first, first + kSlab) of each row by the row's own scale; the last unit is
// filled with zeros.
template <int kRows>
__device__ __forceinline__ void StageBytes(const ActivationRows& rows, const RowBlock& block,
                                           int first, const float* inverse, const float* scales,
                                           ByteRowShared<kRows>* shared) {
  const int values = min(ByteRowShared<kRows>::kSlab, rows.dim - first);
  const int words = CountOf(values, kUnitBytes) * (kUnitBytes / 4);
  for (int r = 0; r < block.rows_here; ++r) {
    for (int at = static_cast<int>(threadIdx.x); at < words; at += kRowThreads) {
      uint32_t word = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int k = first + 4 * at + i;
        if (k >= rows.dim) break;
        word |= ByteOfWord(
            QuantisedValue(ActivationAt(rows, block.first_row + r, k, inverse[r]), scales[r]), i);
      }
      reinterpret_cast<uint32_t*>(shared->x[r])[at] = word;
    }
  }
}

__device__ __forceinline__ int32_t DotOfUnits(const uint4& a, const uint4& b, int32_t sum) {
  sum = DotOfBytes(a.x, b.x, sum);
  sum = DotOfBytes(a.y, b.y, sum);
  sum = DotOfBytes(a.z, b.z, sum);
  return DotOfBytes(a.w, b.w, sum);
}

// The chains of the warp's class over the groups of a slab; both lanes of an output get the same.
template <int kRows>
__device__ __forceinline__ void AddGroups(const MatrixView& matrix, const RowBlock& block,
                                          int first, const ByteRowShared<kRows>& shared,
                                          float (&acc)[kRows]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int in_panel = warp % 2 * (kPanelOutputs / 2) + lane / 2;
  const int first_group = first / kQ8GroupSize;
  const int end =
      min(first_group + ByteRowShared<kRows>::kSlab / kQ8GroupSize, Q8GroupCount(matrix.input_dim));
#pragma unroll(kRows == 1 ? 4 : 1)
  for (int group = first_group + warp / 2; group < end; group += kQ8Classes) {
    const size_t index = Q8GroupIndex(matrix.input_dim, block.panel, group) + in_panel;
    const uint4 unit = LoadConstant(matrix.units + 2 * index + lane % 2);
    const float scale = WidenF16(LoadConstant(matrix.scales + index));
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= block.rows_here) break;
      const int at = group - first_group;
      int32_t sum = DotOfUnits(unit, shared.x[r][2 * at + lane % 2], 0);
      sum += OfLaneXor(sum, 1);
      acc[r] = fma_rn(static_cast<float>(sum), mul_rn(shared.scales[r][at], scale), acc[r]);
    }
  }
}

template <int kRows, bool kGate>
__global__ void __launch_bounds__(kRowThreads)
    Q8RowProductKernel(const __grid_constant__ ProductArguments work) {
  constexpr int kSums = kGate ? 2 : 1;
  auto* shared = SharedMemory<ByteRowShared<kRows>>();
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const RowBlock block = BlockOfRows<kRows, kGate>(work);
  float inverse[kRows];
  InverseNorms(work.rows, block.first_row, block.rows_here, &shared->norm, inverse);
  float acc[kSums][kRows] = {};
  for (int first = 0; first < work.rows.dim; first += ByteRowShared<kRows>::kSlab) {
    if (first > 0) __syncthreads();
    StageGroups(work.rows, block, first, inverse, shared);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      AddGroups(work.matrices[block.matrix + i], block, first, *shared, acc[i]);
    }
  }
  __syncthreads();  // The sums stand where the rows did.
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (lane % 2 == 0) {
        shared->sums[i][warp / 2][r][warp % 2 * (kPanelOutputs / 2) + lane / 2] = acc[i][r];
      }
    }
  }
  __syncthreads();
  if (warp >= block.rows_here) return;
  float sums[2] = {};
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
    const auto& classes = shared->sums[i];
    sums[i] = add_rn(add_rn(classes[0][warp][lane], classes[2][warp][lane]),
                     add_rn(classes[1][warp][lane], classes[3][warp][lane]));
  }
  Finish<kGate>(work, block.matrix, block.first_row + warp, block.panel * kPanelOutputs + lane,
                sums[0], sums[1]);
}

// Sums of products over a slab, of the warp's four outputs, this lane's part.
template <int kRows>
__device__ __forceinline__ void AddBytes(const MatrixView& matrix, const RowBlock& block, int first,
                                         const ByteRowShared<kRows>& shared,
                                         int32_t (&sums)[4][kRows]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int row_units = ByteRowUnits(matrix.input_dim);
  const int first_unit = first / kUnitBytes;
  const int units = min(ByteRowShared<kRows>::kSlab / kUnitBytes, row_units - first_unit);
  const uint4* rows =
      matrix.units +
      static_cast<size_t>(block.panel * kPanelOutputs + warp * 4) * static_cast<size_t>(row_units) +
      first_unit;
#pragma unroll(kRows == 1 ? 2 : 1)
  for (int unit = lane; unit < units; unit += kWarpLanes) {
    uint4 w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      w[i] = LoadConstant(rows + static_cast<size_t>(i) * static_cast<size_t>(row_units) + unit);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= block.rows_here) break;
      const uint4 x = shared.x[r][unit];
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[i][r] = DotOfUnits(w[i], x, sums[i][r]);
    }
  }
}

__device__ __forceinline__ float W8A8Value(const MatrixView& matrix, int output, int32_t sum,
                                           float scale) {
  if (output >= matrix.output_dim) return 0.0f;
  return mul_rn(static_cast<float>(sum), mul_rn(scale, matrix.row_scales[output]));
}

template <int kRows, bool kGate>
__global__ void __launch_bounds__(kRowThreads)
    W8A8RowProductKernel(const __grid_constant__ ProductArguments work) {
  constexpr int kSums = kGate ? 2 : 1;
  auto* shared = SharedMemory<ByteRowShared<kRows>>();
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const RowBlock block = BlockOfRows<kRows, kGate>(work);
  float inverse[kRows];
  InverseNorms(work.rows, block.first_row, block.rows_here, &shared->norm, inverse);
  float scales[kRows] = {};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (r >= block.rows_here) break;
    scales[r] =
        QuantisedScale(LargestOfRow(work.rows, block.first_row + r, inverse[r], shared->largest));
  }
  int32_t sums[kSums][4][kRows] = {};
  for (int first = 0; first < work.rows.dim; first += ByteRowShared<kRows>::kSlab) {
    if (first > 0) __syncthreads();
    StageBytes(work.rows, block, first, inverse, scales, shared);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      AddBytes(work.matrices[block.matrix + i], block, first, *shared, sums[i]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (r >= block.rows_here) break;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int output = block.panel * kPanelOutputs + warp * 4 + i;
      const float value =
          W8A8Value(work.matrices[block.matrix], output, WarpSum(sums[0][i][r]), scales[r]);
      const float up = kSums == 2 ? W8A8Value(work.matrices[1], output,
                                              WarpSum(sums[kSums - 1][i][r]), scales[r])
                                  : 0.0f;
      if (lane == 0) Finish<kGate>(work, block.matrix, block.first_row + r, output, value, up);
    }
  }
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_BYTE_ROW_PRODUCT_CUH_
