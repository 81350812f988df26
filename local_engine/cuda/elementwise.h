// What is done value by value.

#ifndef REENACT_LOCAL_ENGINE_CUDA_ELEMENTWISE_H_
#define REENACT_LOCAL_ENGINE_CUDA_ELEMENTWISE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/finite_check.h"
#include "local_engine/cuda/matrix.h"

namespace reenact::local_engine {

// The SiluMul of reference/silu_mul.h of rows of `dim` values. out may be gate or up.
void SiluMul(std::span<const float> gate, std::span<const float> up, size_t dim,
             const FiniteCheck& check, CudaDevice& device, std::span<float> out);

// x[k] = x[k] + delta[k], rounded.
void AddTo(std::span<const float> delta, CudaDevice& device, std::span<float> x);

// Row i of y is row tokens[i] of the embedding, widened as by WidenRow.
// Shapes: y [tokens.size()][input_dim].
void EmbedTokens(const CudaMatrix& embedding, std::span<const int32_t> tokens, CudaDevice& device,
                 std::span<float> y);

// Row i of y is row rows[i] of x. Shapes: y [rows.size()][dim].
void TakeRows(std::span<const float> x, std::span<const int32_t> rows, size_t dim,
              CudaDevice& device, std::span<float> y);

// Notes rows of `dim` values that are not finite.
void CheckRows(std::span<const float> x, size_t dim, const FiniteCheck& check, CudaDevice& device);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_ELEMENTWISE_H_
