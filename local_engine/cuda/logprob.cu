#include <cstddef>
#include <span>

#include "local_engine/cuda/class_sum.cuh"
#include "local_engine/cuda/logprob.h"
#include "local_engine/numerics/exp_log.h"

namespace reenact::local_engine {
namespace {

constexpr int kVocabularyChunkSize = 4096;
constexpr float kNoLogit = -__builtin_huge_valf();

struct MaximumShared {
  float of_warp[kClassCount / kWarpLanes];
};

// A block a row. Zeros of either sign give the same sum, and the first one of the row is kept, as
// the definition does.
__global__ void __launch_bounds__(kClassCount)
    MaximumKernel(const float* logits, int vocabulary, float* normalisers) {
  auto* shared = SharedMemory<MaximumShared>();
  const float* row = logits + size_t{blockIdx.x} * static_cast<size_t>(vocabulary);
  const int thread = static_cast<int>(threadIdx.x);
  float maximum = kNoLogit;
  for (int i = thread; i < vocabulary; i += kClassCount) maximum = max_select(row[i], maximum);
  if (!Planted(DeviceFault::kHalfWarpExchanges) || thread % kWarpLanes < kWarpLanes / 2) {
    maximum = WarpMaximum(maximum);
  }
  if (thread % kWarpLanes == 0) shared->of_warp[thread / kWarpLanes] = maximum;
  __syncthreads();
  if (thread != 0) return;
  for (int warp = 0; warp < kClassCount / kWarpLanes; ++warp) {
    maximum = max_select(shared->of_warp[warp], maximum);
  }
  if (maximum == 0.0f) {
    int first = 0;
    while (row[first] != 0.0f) ++first;
    maximum = row[first];
  }
  normalisers[2 * size_t{blockIdx.x}] = maximum;
}

// A block a chunk of a row.
__global__ void __launch_bounds__(kClassCount)
    ChunkSumKernel(const float* logits, int vocabulary, const float* normalisers, float* sums) {
  auto* shared = SharedMemory<ClassSums>();
  const size_t row = blockIdx.y;
  const int first = static_cast<int>(blockIdx.x) * kVocabularyChunkSize;
  const int count = min(kVocabularyChunkSize, vocabulary - first);
  const float* chunk = logits + row * static_cast<size_t>(vocabulary) + static_cast<size_t>(first);
  const float maximum = normalisers[2 * row];
  float acc = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kClassCount) {
    acc = add_rn(acc, Exp(sub_rn(chunk[i], maximum)));
  }
  const float sum = SumOfClasses(acc, min(count, kClassCount), shared);
  if (threadIdx.x == 0) sums[row * gridDim.x + blockIdx.x] = sum;
}

// A thread a row: chunks in index order.
__global__ void __launch_bounds__(kWarpLanes)
    LogSumKernel(const float* sums, int chunks, int rows, float* normalisers) {
  const int row = static_cast<int>(blockIdx.x) * kWarpLanes + static_cast<int>(threadIdx.x);
  if (row >= rows) return;
  float total = 0.0f;
  for (int chunk = 0; chunk < chunks; ++chunk) total = add_rn(total, sums[row * chunks + chunk]);
  normalisers[2 * row + 1] = add_rn(normalisers[2 * row], Log(total));
}

}  // namespace

void NormaliseRows(std::span<const float> logits, size_t rows, CudaDevice& device,
                   std::span<float> normalisers) {
  if (rows == 0) return;
  const auto vocabulary = static_cast<int>(logits.size() / rows);
  const int chunks = (vocabulary + kVocabularyChunkSize - 1) / kVocabularyChunkSize;
  auto* sums = reinterpret_cast<float*>(
      device.Scratch(ScratchUse::kSplits, rows * static_cast<size_t>(chunks) * sizeof(float)));
  if (sums == nullptr) return;
  const auto row_count = static_cast<unsigned>(rows);
  device.Launch(
      {.blocks = dim3(row_count), .threads = kClassCount, .shared_bytes = sizeof(MaximumShared)},
      MaximumKernel, logits.data(), vocabulary, normalisers.data());
  device.Launch({.blocks = dim3(static_cast<unsigned>(chunks), row_count),
                 .threads = kClassCount,
                 .shared_bytes = sizeof(ClassSums)},
                ChunkSumKernel, logits.data(), vocabulary, normalisers.data(), sums);
  device.Launch({.blocks = dim3((row_count + kWarpLanes - 1) / kWarpLanes), .threads = kWarpLanes},
                LogSumKernel, sums, chunks, static_cast<int>(rows), normalisers.data());
}

}  // namespace reenact::local_engine
