#include <cstddef>
#include <cstdint>
#include <span>

#include "local_engine/cuda/device_operations.cuh"
#include "local_engine/cuda/elementwise.h"
#include "local_engine/cuda/panel_layout.cuh"
#include "local_engine/cuda/product_epilogue.cuh"

namespace reenact::local_engine {
namespace {

constexpr int kElementThreads = 256;

__device__ __forceinline__ size_t ElementIndex() {
  return size_t{blockIdx.x} * kElementThreads + threadIdx.x;
}

LaunchShape ShapeOf(size_t elements) {
  return {.blocks = dim3(static_cast<unsigned>((elements + kElementThreads - 1) / kElementThreads)),
          .threads = kElementThreads};
}

__global__ void __launch_bounds__(kElementThreads)
    SiluMulKernel(const float* gate, const float* up, size_t count, int dim, FiniteCheck check,
                  float* out) {
  const size_t i = ElementIndex();
  if (i >= count) return;
  const float value = GatedValue(gate[i], up[i]);
  NoteIfNotFinite(check, static_cast<int>(i / static_cast<size_t>(dim)), value);
  out[i] = value;
}

__global__ void __launch_bounds__(kElementThreads)
    AddToKernel(const float* delta, size_t count, float* x) {
  const size_t i = ElementIndex();
  if (i < count) x[i] = add_rn(x[i], delta[i]);
}

// The value of a weight, from where the products read it.
__device__ __forceinline__ float WeightAt(DataType type, const MatrixView& matrix, int output,
                                          int k) {
  const int panel = output / kPanelOutputs;
  const auto lane = static_cast<size_t>(output % kPanelOutputs);
  if (type == DataType::kQ8_0) {
    const size_t index = Q8GroupIndex(matrix.input_dim, panel, k / kQ8GroupSize) + lane;
    const auto* bytes = reinterpret_cast<const int8_t*>(matrix.units + 2 * index);
    return mul_rn(WidenF16(matrix.scales[index]), static_cast<float>(bytes[k % kQ8GroupSize]));
  }
  const int value_bytes = type == DataType::kF32 ? 4 : 2;
  const int chunk = k / kDotChunk;
  const int unit_chunks = UnitChunks(value_bytes);
  const uint4* unit = matrix.units + lane +
                      FloatUnitIndex(matrix.input_dim, value_bytes, panel,
                                     BitReversed(k / 2 % kDotClasses), chunk / unit_chunks);
  const int at = chunk % unit_chunks * 2 + k % 2;
  if (type == DataType::kF32) return reinterpret_cast<const float*>(unit)[at];
  const uint16_t narrow = reinterpret_cast<const uint16_t*>(unit)[at];
  return type == DataType::kF16 ? WidenF16(narrow) : widen_bf16(narrow);
}

__global__ void __launch_bounds__(kElementThreads)
    EmbedKernel(DataType type, MatrixView embedding, const int32_t* tokens, size_t count,
                float* y) {
  const size_t i = ElementIndex();
  if (i >= count) return;
  const auto dim = static_cast<size_t>(embedding.input_dim);
  y[i] = WeightAt(type, embedding, tokens[i / dim], static_cast<int>(i % dim));
}

__global__ void __launch_bounds__(kElementThreads)
    TakeRowsKernel(const float* x, const int32_t* rows, size_t count, int dim, float* y) {
  const size_t i = ElementIndex();
  if (i >= count) return;
  const auto row_dim = static_cast<size_t>(dim);
  y[i] = x[static_cast<size_t>(rows[i / row_dim]) * row_dim + i % row_dim];
}

__global__ void __launch_bounds__(kElementThreads)
    CheckRowsKernel(const float* x, size_t count, int dim, FiniteCheck check) {
  const size_t i = ElementIndex();
  if (i < count) NoteIfNotFinite(check, static_cast<int>(i / static_cast<size_t>(dim)), x[i]);
}

}  // namespace

void SiluMul(std::span<const float> gate, std::span<const float> up, size_t dim,
             const FiniteCheck& check, CudaDevice& device, std::span<float> out) {
  device.Launch(ShapeOf(out.size()), SiluMulKernel, gate.data(), up.data(), out.size(),
                static_cast<int>(dim), check, out.data());
}

void AddTo(std::span<const float> delta, CudaDevice& device, std::span<float> x) {
  device.Launch(ShapeOf(x.size()), AddToKernel, delta.data(), x.size(), x.data());
}

void EmbedTokens(const CudaMatrix& embedding, std::span<const int32_t> tokens, CudaDevice& device,
                 std::span<float> y) {
  device.Launch(ShapeOf(y.size()), EmbedKernel, embedding.type(), embedding.view(), tokens.data(),
                y.size(), y.data());
}

void TakeRows(std::span<const float> x, std::span<const int32_t> rows, size_t dim,
              CudaDevice& device, std::span<float> y) {
  device.Launch(ShapeOf(y.size()), TakeRowsKernel, x.data(), rows.data(), y.size(),
                static_cast<int>(dim), y.data());
}

void CheckRows(std::span<const float> x, size_t dim, const FiniteCheck& check, CudaDevice& device) {
  device.Launch(ShapeOf(x.size()), CheckRowsKernel, x.data(), x.size(), static_cast<int>(dim),
                check);
}

}  // namespace reenact::local_engine
