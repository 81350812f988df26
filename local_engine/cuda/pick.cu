#include <cstddef>
#include <cstdint>
#include <span>

#include "local_engine/cuda/device_operations.cuh"
#include "local_engine/cuda/pick.h"
#include "local_engine/numerics/exp_log.h"

namespace reenact::local_engine {
namespace {

constexpr int kPickThreads = 256;
constexpr int kPickWarps = kPickThreads / kWarpLanes;
constexpr int kPickChunk = 4096;  // Of a row, a block's.
constexpr float kCut = -__builtin_huge_valf();

// The best token so far; the order of comparisons does not matter.
struct Candidate {
  float score = kCut;
  int32_t token = -1;  // None yet.

  __device__ __forceinline__ void Take(const Candidate& other) {
    if (other.token < 0) return;
    const bool earlier =
        Planted(DeviceFault::kTieToHighestId) ? other.token > token : other.token < token;
    const bool better = token < 0 || other.score > score || (other.score == score && earlier);
    if (better) *this = other;
  }
};

struct PickShared {
  Candidate of_warp[kPickWarps];
};

__device__ __forceinline__ float ScoreOf(float logit, const RowPick& pick, int token) {
  if (pick.temperature == 0.0f) return logit;
  const float uniform = UniformFromBits(DrawBits(pick.key, static_cast<uint32_t>(token)));
  return add_rn(div_rn(logit, pick.temperature), -Log(-Log(uniform)));
}

// A block a chunk of a row: the best of the chunk.
__global__ void __launch_bounds__(kPickThreads)
    PickOfChunkKernel(const float* logits, int vocabulary, const RowPick* picks,
                      Candidate* candidates) {
  auto* shared = SharedMemory<PickShared>();
  const size_t row = blockIdx.y;
  const RowPick pick = picks[row];
  if (pick.wanted == 0) return;
  const float* of_row = logits + row * static_cast<size_t>(vocabulary);
  const int first = static_cast<int>(blockIdx.x) * kPickChunk;
  const int end = min(vocabulary, first + kPickChunk);
  Candidate best;
  for (int token = first + static_cast<int>(threadIdx.x); token < end; token += kPickThreads) {
    const float logit = of_row[token];
    if (logit != kCut) best.Take({ScoreOf(logit, pick, token), token});
  }
#pragma unroll
  for (int off = kWarpLanes / 2; off >= 1; off /= 2) {
    best.Take({OfLaneXor(best.score, off), OfLaneXor(best.token, off)});
  }
  if (threadIdx.x % kWarpLanes == 0) shared->of_warp[threadIdx.x / kWarpLanes] = best;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kPickWarps; ++warp) best.Take(shared->of_warp[warp]);
  candidates[row * gridDim.x + blockIdx.x] = best;
}

// A thread a row: the best of its chunks.
__global__ void __launch_bounds__(kWarpLanes)
    PickOfRowKernel(const float* logits, int vocabulary, const RowPick* picks, int rows,
                    const Candidate* candidates, int chunks, PickedRow* picked) {
  const int row = static_cast<int>(blockIdx.x) * kWarpLanes + static_cast<int>(threadIdx.x);
  if (row >= rows || picks[row].wanted == 0) return;
  Candidate best;
  for (int chunk = 0; chunk < chunks; ++chunk) best.Take(candidates[row * chunks + chunk]);
  // A row without a finite logit ends its sequence; any token does.
  const int token = max(best.token, 0);
  picked[row] = {token, logits[static_cast<size_t>(row) * static_cast<size_t>(vocabulary) +
                               static_cast<size_t>(token)]};
}

}  // namespace

void PickTokens(std::span<const float> logits, std::span<const RowPick> picks, CudaDevice& device,
                std::span<PickedRow> picked) {
  if (picks.empty()) return;
  const auto vocabulary = static_cast<int>(logits.size() / picks.size());
  const int chunks = (vocabulary + kPickChunk - 1) / kPickChunk;
  auto* candidates = reinterpret_cast<Candidate*>(device.Scratch(
      ScratchUse::kSplits, picks.size() * static_cast<size_t>(chunks) * sizeof(Candidate)));
  if (candidates == nullptr) return;
  const auto rows = static_cast<unsigned>(picks.size());
  device.Launch({.blocks = dim3(static_cast<unsigned>(chunks), rows),
                 .threads = kPickThreads,
                 .shared_bytes = sizeof(PickShared)},
                PickOfChunkKernel, logits.data(), vocabulary, picks.data(), candidates);
  device.Launch({.blocks = dim3((rows + kWarpLanes - 1) / kWarpLanes), .threads = kWarpLanes},
                PickOfRowKernel, logits.data(), vocabulary, picks.data(), static_cast<int>(rows),
                candidates, chunks, picked.data());
}

}  // namespace reenact::local_engine
