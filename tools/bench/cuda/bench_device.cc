#include "tools/bench/cuda/bench_device.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace reenact::bench {
namespace {

using local_engine::CudaDevice;
using local_engine::DataType;
using local_engine::DeviceMemory;

constexpr int kRounds = 3;
constexpr double kRoundMilliseconds = 60;
constexpr double kMostCalls = 200;

std::vector<std::byte> RandomBytes(DataType type, size_t count) {
  uint64_t state = 0x9e3779b97f4a7c15u;
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = static_cast<std::byte>(state >> 56);
  }
  // The byte of sign and exponent, of each value or of each scale.
  const size_t stride = type == DataType::kF32 ? 4 : type == DataType::kQ8_0 ? 34 : 2;
  if (type == DataType::kI8) return bytes;
  const std::byte exponent{type == DataType::kQ8_0 ? uint8_t{0x20} : uint8_t{0x3c}};
  for (size_t i = type == DataType::kF32 ? 3 : 1; i < count; i += stride) bytes[i] = exponent;
  return bytes;
}

double MillisecondsNow() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

}  // namespace

BenchSizes BenchSizes::Small() {
  BenchSizes sizes;
  sizes.copy_bytes = 1 << 16;
  sizes.gemv_outputs = 64;
  sizes.gemv_dim = 128;
  sizes.gemm_rows = 70;
  sizes.gemm_outputs = 64;
  sizes.gemm_dim = 128;
  sizes.multiply_add_blocks = 2;
  sizes.multiply_add_rounds = 64;
  sizes.attention = {{3, 64}};
  sizes.head_count = 4;
  sizes.kv_head_count = 2;
  sizes.head_dim = 16;
  sizes.layer_count = 2;
  sizes.hidden_dim = 64;
  sizes.feed_forward_dim = 96;
  sizes.vocabulary_size = 96;
  sizes.prefill_tokens = 40;
  sizes.decode_context = 5;
  sizes.decode_steps = 2;
  sizes.batches = {1, 3};
  return sizes;
}

std::unique_ptr<RandomWeights> MakeRandomWeights(DataType type, size_t outputs, size_t dim) {
  auto weights = std::make_unique<RandomWeights>();
  const local_engine::StorageUnit unit = StorageUnitOf(type);
  weights->bytes = RandomBytes(type, outputs * (dim / unit.values) * unit.size_bytes);
  weights->tensor = {.name = "random", .type = type, .shape = {outputs, dim}};
  weights->tensor.data = weights->bytes.data();
  weights->tensor.size_bytes = weights->bytes.size();
  weights->projection.weight = &weights->tensor;
  if (type == DataType::kI8) weights->projection.row_scales.assign(outputs, 1e-4f);
  return weights;
}

const char* WeightsName(DataType type) {
  return type == DataType::kI8 ? "W8A8" : DataTypeName(type);
}

std::optional<double> Milliseconds(CudaDevice& device, const std::function<void()>& queue) {
  queue();  // Warms up, and makes the scratch memory.
  if (device.Wait() != cudaSuccess) return std::nullopt;
  double begin = MillisecondsNow();
  queue();
  if (device.Wait() != cudaSuccess) return std::nullopt;
  const double once = MillisecondsNow() - begin;
  const auto calls = static_cast<int>(std::clamp(kRoundMilliseconds / once, 1.0, kMostCalls));
  double best = once;
  for (int round = 0; round < kRounds; ++round) {
    begin = MillisecondsNow();
    for (int i = 0; i < calls; ++i) queue();
    if (device.Wait() != cudaSuccess) return std::nullopt;
    best = std::min(best, (MillisecondsNow() - begin) / calls);
  }
  return best;
}

std::optional<double> CublasMilliseconds(const Cublas* cublas, CublasKind kind, size_t rows,
                                         size_t outputs, size_t dim, CudaDevice& device) {
  const size_t value_bytes = kind == CublasKind::kInt8 ? 1 : kind == CublasKind::kFloat32 ? 4 : 2;
  DeviceMemory x, w, y;
  if (cublas == nullptr || !device.Reserve(rows * dim * value_bytes, &x) ||
      !device.Reserve(outputs * dim * value_bytes, &w) ||
      !device.Reserve(rows * outputs * sizeof(float), &y)) {
    return std::nullopt;
  }
  device.Fill(x.As<void>(), 0x3c, rows * dim * value_bytes);
  device.Fill(w.As<void>(), 0x3c, outputs * dim * value_bytes);
  bool refused = false;
  const std::optional<double> time = Milliseconds(device, [&] {
    refused |=
        !cublas->Multiply(kind, x.As<void>(), w.As<void>(), y.As<void>(), static_cast<int>(rows),
                          static_cast<int>(outputs), static_cast<int>(dim));
  });
  return refused ? std::nullopt : time;
}

}  // namespace reenact::bench
