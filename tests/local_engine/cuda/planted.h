// The fault that is planted in the kernels under test.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PLANTED_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PLANTED_H_

#include "local_engine/cuda/planted_device_fault.h"

namespace reenact::local_engine {

extern DeviceFault planted_device_fault;

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PLANTED_H_
