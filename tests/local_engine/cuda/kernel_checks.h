// Each operation of cuda/ against its definition in reference/, over adversarial inputs and odd
// shapes, in several schedules of the emulator. Every function returns how many results differ as
// uint32; whoever expects none and whoever plants faults call the same ones. What the emulator
// itself has to say is in its report.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_KERNEL_CHECKS_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_KERNEL_CHECKS_H_

#include <cstddef>

namespace reenact::local_engine {

size_t DifferentNorms();

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_KERNEL_CHECKS_H_
