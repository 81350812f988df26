// Products of many rows with quantised weights. QuantiseRowsKernel quantises the rows beforehand; a
// block computes a tile of rows by outputs, a group of 32 k at a time, in the units that multiply
// matrices of bytes: their sums are integers, and exact.
//
// Two stages of some groups each lie in shared memory: while one is computed, the next one is
// copied there. A row's 32 bytes of a group are read 8 by 8, by the four lanes that share a row of
// a fragment. That is not the order of k that the instruction's description has, but the same one
// in both factors.

#ifndef REENACT_LOCAL_ENGINE_CUDA_BYTE_TILE_PRODUCT_CUH_
#define REENACT_LOCAL_ENGINE_CUDA_BYTE_TILE_PRODUCT_CUH_

#include "local_engine/cuda/byte_matrices.cuh"
#include "local_engine/cuda/byte_row_product.cuh"

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

inline constexpr int kStageGroups = 4;

// How a tile is spread over the warps of a block: each has kDown parts of 16 rows by kAcross parts
// of 8 outputs.
template <int kDown, int kAcross, int kWarpsDown, int kWarpsAcross>
struct ByteTile {
  static constexpr int kRowParts = kDown;
  static constexpr int kOutputParts = kAcross;
  static constexpr int kRows = kByteRows * kDown * kWarpsDown;
  static constexpr int kOutputs = kByteOutputs * kAcross * kWarpsAcross;
  static constexpr int kThreads = kWarpLanes * kWarpsDown * kWarpsAcross;

  // Of the tile, the first row and output of which the thread has a sum.
  __device__ __forceinline__ static int FirstRow() {
    const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
    return warp / kWarpsAcross * kByteRows * kDown + static_cast<int>(threadIdx.x) % kWarpLanes / 4;
  }

  __device__ __forceinline__ static int FirstOutput() {
    const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
    return warp % kWarpsAcross * kByteOutputs * kAcross + static_cast<int>(threadIdx.x) % 4 * 2;
  }

  // Of the first product of 16 by 8, counted over the warp's rows or outputs: where its sum `i`
  // stands from there.
  __device__ __forceinline__ static int RowOf(int part, int i) {
    return part * kByteRows + i / 2 * (kByteRows / 2);
  }

  __device__ __forceinline__ static int OutputOf(int part, int i) {
    return part * kByteOutputs + i % 2;
  }
};

// The larger, the less is read for a product; Q8_0 has three binary32 sums for each of them.
using Q8Tile = ByteTile<2, 4, 2, 2>;
using W8A8Tile = ByteTile<4, 4, 2, 4>;

template <typename Tile>
struct ByteTileShared {
  uint4 x[2][kStageGroups][Tile::kRows][2];
  uint4 w[2][kStageGroups][Tile::kOutputs][2];
  // Of Q8_0.
  float x_scales[2][kStageGroups][Tile::kRows];
  float w_scales[2][kStageGroups][Tile::kOutputs];
};

// What a block multiplies, and where its tile begins.
struct ByteTileWork {
  const MatrixView* matrix = nullptr;
  QuantisedRows rows;
  int row_count = 0;
  int first_row = 0;
  int first_output = 0;
};

template <typename Tile>
__device__ __forceinline__ ByteTileWork WorkOfTile(const ProductArguments& work,
                                                   const QuantisedRows& rows) {
  return {&work.matrices[0], rows, work.rows.row_count, static_cast<int>(blockIdx.y) * Tile::kRows,
          static_cast<int>(blockIdx.x) * Tile::kOutputs};
}

// Where unit `unit` of an output stands among a matrix's units.
template <bool kGroups>
__device__ __forceinline__ size_t WeightUnitIndex(const MatrixView& matrix, int output, int unit) {
  if (!kGroups) {
    return static_cast<size_t>(output) * static_cast<size_t>(ByteRowUnits(matrix.input_dim)) +
           static_cast<size_t>(unit);
  }
  const size_t place = Q8GroupIndex(matrix.input_dim, output / kPanelOutputs, unit / 2) +
                       static_cast<size_t>(output % kPanelOutputs);
  return 2 * place + static_cast<size_t>(unit % 2);
}

// Begins to copy a group of the tile's rows and outputs; zeros where there are none.
template <typename Tile, bool kGroups>
__device__ __forceinline__ void CopyGroup(const ByteTileWork& work, int group, uint4 (*x)[2],
                                          uint4 (*w)[2]) {
  const MatrixView& matrix = *work.matrix;
  const int row_units = ByteRowUnits(matrix.input_dim);
  for (int i = static_cast<int>(threadIdx.x); i < 2 * Tile::kRows; i += Tile::kThreads) {
    const int row = work.first_row + i / 2;
    const int unit = 2 * group + i % 2;
    const bool there = row < work.row_count && unit < row_units;
    const size_t at =
        static_cast<size_t>(row) * static_cast<size_t>(row_units) + static_cast<size_t>(unit);
    BeginCopy(work.rows.x + (there ? at : 0), there, &x[i / 2][i % 2]);
  }
  for (int i = static_cast<int>(threadIdx.x); i < 2 * Tile::kOutputs; i += Tile::kThreads) {
    const int output = work.first_output + i / 2;
    const int unit = 2 * group + i % 2;
    const bool there = output < matrix.output_dim && unit < row_units;
    const size_t at = there ? WeightUnitIndex<kGroups>(matrix, output, unit) : 0;
    BeginCopy(matrix.units + at, there, &w[i / 2][i % 2]);
  }
}

// The scales of a group of Q8_0.
template <typename Tile>
__device__ __forceinline__ void CopyScales(const ByteTileWork& work, int group, float* x,
                                           float* w) {
  const MatrixView& matrix = *work.matrix;
  const int groups = Q8GroupCount(matrix.input_dim);
  for (int i = static_cast<int>(threadIdx.x); i < Tile::kRows; i += Tile::kThreads) {
    const int row = work.first_row + i;
    const size_t at =
        static_cast<size_t>(row) * static_cast<size_t>(groups) + static_cast<size_t>(group);
    x[i] = row < work.row_count ? work.rows.scales[at] : 0.0f;
  }
  for (int i = static_cast<int>(threadIdx.x); i < Tile::kOutputs; i += Tile::kThreads) {
    const int output = work.first_output + i;
    const size_t at = Q8GroupIndex(matrix.input_dim, output / kPanelOutputs, group) +
                      static_cast<size_t>(output % kPanelOutputs);
    w[i] = output < matrix.output_dim ? WidenF16(matrix.scales[at]) : 0.0f;
  }
}

// A thread's eight bytes of a row, or an output, of a group.
__device__ __forceinline__ uint2 BytesOfLane(const uint4 (&units)[2]) {
  return reinterpret_cast<const uint2*>(units)[threadIdx.x % 4];
}

// What a thread multiplies of a group.
template <typename Tile>
struct ByteFragments {
  uint32_t rows[Tile::kRowParts][4];
  uint32_t outputs[Tile::kOutputParts][2];

  __device__ __forceinline__ void Read(const uint4 (*x)[2], const uint4 (*w)[2]) {
    const int first_row = Tile::FirstRow();
    const int first_output = Tile::FirstOutput() / kByteOutputs * kByteOutputs +
                             static_cast<int>(threadIdx.x) % kWarpLanes / 4;
#pragma unroll
    for (int part = 0; part < Tile::kRowParts; ++part) {
      const uint2 low = BytesOfLane(x[first_row + part * kByteRows]);
      const uint2 high = BytesOfLane(x[first_row + part * kByteRows + kByteRows / 2]);
      rows[part][0] = low.x;
      rows[part][1] = high.x;
      rows[part][2] = low.y;
      rows[part][3] = high.y;
    }
#pragma unroll
    for (int part = 0; part < Tile::kOutputParts; ++part) {
      const uint2 both = BytesOfLane(w[first_output + part * kByteOutputs]);
      outputs[part][0] = both.x;
      outputs[part][1] = both.y;
    }
  }
};

template <typename Tile>
using ByteSums = int32_t[Tile::kRowParts][Tile::kOutputParts][kByteSums];

template <typename Tile>
using ByteValues = float[Tile::kRowParts][Tile::kOutputParts][kByteSums];

// Stores `value(row, output, down, across, i)` of every sum of the thread.
template <typename Tile, typename Value>
__device__ __forceinline__ void FinishTile(const ProductArguments& work, const ByteTileWork& tile,
                                           const Value& value) {
#pragma unroll
  for (int down = 0; down < Tile::kRowParts; ++down) {
#pragma unroll
    for (int across = 0; across < Tile::kOutputParts; ++across) {
#pragma unroll
      for (int i = 0; i < kByteSums; ++i) {
        const int row = tile.first_row + Tile::FirstRow() + Tile::RowOf(down, i);
        const int output = tile.first_output + Tile::FirstOutput() + Tile::OutputOf(across, i);
        if (row >= tile.row_count) continue;
        Finish<false>(work, 0, row, output, value(row, output, down, across, i), 0.0f);
      }
    }
  }
}

// The next link of every chain: the group's sums, each times the product of two scales.
template <typename Tile>
__device__ __forceinline__ void AddGroup(const ByteFragments<Tile>& bytes, const float* x_scales,
                                         const float* w_scales, ByteValues<Tile>& acc) {
#pragma unroll
  for (int down = 0; down < Tile::kRowParts; ++down) {
#pragma unroll
    for (int across = 0; across < Tile::kOutputParts; ++across) {
      int32_t sums[kByteSums] = {};
      AddByteProducts(bytes.rows[down], bytes.outputs[across], sums);
#pragma unroll
      for (int i = 0; i < kByteSums; ++i) {
        const float x = x_scales[Tile::FirstRow() + Tile::RowOf(down, i)];
        const float w = w_scales[Tile::FirstOutput() + Tile::OutputOf(across, i)];
        acc[down][across][i] =
            fma_rn(static_cast<float>(sums[i]), mul_rn(x, w), acc[down][across][i]);
      }
    }
  }
}

// to = to + from, or `from` where it is the first of a sum; clears `from`.
template <typename Tile>
__device__ __forceinline__ void TakeClass(bool first, ByteValues<Tile>& to,
                                          ByteValues<Tile>& from) {
#pragma unroll
  for (int down = 0; down < Tile::kRowParts; ++down) {
#pragma unroll
    for (int across = 0; across < Tile::kOutputParts; ++across) {
#pragma unroll
      for (int i = 0; i < kByteSums; ++i) {
        float& value = from[down][across][i];
        to[down][across][i] = first ? value : add_rn(to[down][across][i], value);
        value = 0.0f;
      }
    }
  }
}

// Stages of each class in turn, classes in the order 0, 2, 1, 3: (a0 + a2) + (a1 + a3) needs two
// sums beside the running one.
struct Q8Stages {
  int of_class = 0;
  int groups = 0;

  // Group `s` of stage `stage`; not below `groups` where there is none.
  __device__ __forceinline__ int GroupOf(int stage, int s) const {
    const int turn = stage / of_class;
    const int q8_class = turn % 2 * 2 + turn / 2;
    return q8_class + kQ8Classes * (stage % of_class * kStageGroups + s);
  }
};

template <typename Tile>
__device__ __forceinline__ void CopyQ8Stage(const ByteTileWork& work, const Q8Stages& stages,
                                            int stage, ByteTileShared<Tile>* shared) {
  if (stage < kQ8Classes * stages.of_class) {
    const int buffer = stage % 2;
    for (int s = 0; s < kStageGroups && stages.GroupOf(stage, s) < stages.groups; ++s) {
      const int group = stages.GroupOf(stage, s);
      CopyGroup<Tile, true>(work, group, shared->x[buffer][s], shared->w[buffer][s]);
      CopyScales<Tile>(work, group, shared->x_scales[buffer][s], shared->w_scales[buffer][s]);
    }
  }
  CommitCopies();
}

template <typename Tile>
__global__ void __launch_bounds__(Tile::kThreads)
    Q8TileProductKernel(const __grid_constant__ ProductArguments work, QuantisedRows rows) {
  auto* shared = SharedMemory<ByteTileShared<Tile>>();
  const ByteTileWork tile = WorkOfTile<Tile>(work, rows);
  const int dim = work.matrices[0].input_dim;
  const Q8Stages stages = {CountOf(Q8ClassGroups(dim), kStageGroups), Q8GroupCount(dim)};
  ByteValues<Tile> acc = {}, even = {}, odd = {};
  CopyQ8Stage(tile, stages, 0, shared);
  for (int stage = 0; stage < kQ8Classes * stages.of_class; ++stage) {
    CopyQ8Stage(tile, stages, stage + 1, shared);
    WaitForCopies<1>();
    __syncthreads();
    const int buffer = stage % 2;
    for (int s = 0; s < kStageGroups && stages.GroupOf(stage, s) < stages.groups; ++s) {
      ByteFragments<Tile> bytes;
      bytes.Read(shared->x[buffer][s], shared->w[buffer][s]);
      AddGroup<Tile>(bytes, shared->x_scales[buffer][s], shared->w_scales[buffer][s], acc);
    }
    const int turn = stage / stages.of_class;
    if (stage % stages.of_class == stages.of_class - 1) {
      if (turn < 2) {
        TakeClass<Tile>(turn == 0, even, acc);
      } else {
        TakeClass<Tile>(turn == 2, odd, acc);
      }
    }
    __syncthreads();  // The stage after the next one is copied where this one was.
  }
  WaitForCopies<0>();  // Of the last group, which is empty.
  FinishTile<Tile>(work, tile, [&](int, int, int down, int across, int i) {
    return add_rn(even[down][across][i], odd[down][across][i]);
  });
}

template <typename Tile>
__device__ __forceinline__ void CopyW8A8Stage(const ByteTileWork& work, int stage, int groups,
                                              ByteTileShared<Tile>* shared) {
  const int buffer = stage % 2;
  for (int s = 0; s < kStageGroups && stage * kStageGroups + s < groups; ++s) {
    CopyGroup<Tile, false>(work, stage * kStageGroups + s, shared->x[buffer][s],
                           shared->w[buffer][s]);
  }
  CommitCopies();
}

template <typename Tile>
__global__ void __launch_bounds__(Tile::kThreads)
    W8A8TileProductKernel(const __grid_constant__ ProductArguments work, QuantisedRows rows) {
  auto* shared = SharedMemory<ByteTileShared<Tile>>();
  const ByteTileWork tile = WorkOfTile<Tile>(work, rows);
  const int groups = CountOf(work.matrices[0].input_dim, kQ8GroupSize);
  ByteSums<Tile> sums = {};
  CopyW8A8Stage(tile, 0, groups, shared);
  for (int stage = 0; stage * kStageGroups < groups; ++stage) {
    CopyW8A8Stage(tile, stage + 1, groups, shared);
    WaitForCopies<1>();
    __syncthreads();
    for (int s = 0; s < kStageGroups && stage * kStageGroups + s < groups; ++s) {
      ByteFragments<Tile> bytes;
      bytes.Read(shared->x[stage % 2][s], shared->w[stage % 2][s]);
#pragma unroll
      for (int down = 0; down < Tile::kRowParts; ++down) {
#pragma unroll
        for (int across = 0; across < Tile::kOutputParts; ++across) {
          AddByteProducts(bytes.rows[down], bytes.outputs[across], sums[down][across]);
        }
      }
    }
    __syncthreads();  // As above.
  }
  WaitForCopies<0>();
  FinishTile<Tile>(work, tile, [&](int row, int output, int down, int across, int i) {
    return W8A8Value(work.matrices[0], output, sums[down][across][i], rows.scales[row]);
  });
}

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_BYTE_TILE_PRODUCT_CUH_
