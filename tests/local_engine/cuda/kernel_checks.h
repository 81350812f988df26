// Each operation of cuda/ against its definition in reference/, over adversarial inputs and odd
// shapes, in several schedules of the emulator. Every function returns how many results differ as
// uint32; whoever expects none and whoever plants faults call the same ones. What the emulator
// itself has to say is in its report.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_KERNEL_CHECKS_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_KERNEL_CHECKS_H_

#include <cstddef>

#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {

size_t DifferentNorms();
size_t DifferentGates();
size_t DifferentResiduals();

// One row, few rows and tiles of rows, with and without bias; added to a residual, gated, after a
// norm.
size_t DifferentProducts(DataType type);
size_t DifferentFusedProducts(DataType type);
size_t DifferentEmbeddings(DataType type);
size_t DifferentLogNormalisers();
size_t DifferentPicks();

// Of a cache of that type. Every head size of a supported model, decode and prefill, with windows
// and without, pages in no order.
size_t DifferentRotations(DataType type);
size_t DifferentAttention(DataType type);

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_KERNEL_CHECKS_H_
