// Each operation of cpu/ against its definition in reference/, over adversarial inputs and odd
// shapes. Every function computes the definition once and the operation on each of the devices, and
// returns how many results differ as uint32. Both those who expect none and those who plant faults
// call them.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CPU_KERNEL_CHECKS_H_
#define REENACT_TESTS_LOCAL_ENGINE_CPU_KERNEL_CHECKS_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "local_engine/cpu/device.h"
#include "local_engine/cpu/isa.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {

using Devices = std::vector<std::unique_ptr<CpuDevice>>;

// One device for each number of threads.
Devices DevicesOf(Isa isa, std::span<const int> thread_counts);

size_t DifferentProducts(DataType type, const Devices& devices);
size_t DifferentBiasedProducts(DataType type, const Devices& devices);
size_t DifferentNorms(const Devices& devices);
size_t DifferentRotations(const Devices& devices);
size_t DifferentGates(const Devices& devices);
size_t DifferentResiduals(const Devices& devices);
size_t DifferentLogNormalisers(const Devices& devices);

// Threads of the pools whose floating-point mode is wrong while they compute.
size_t ThreadsInWrongMode(const Devices& devices);

// What a cache gives back against the values rounded to nearest even.
size_t DifferentStoredValues(DataType type);

// Every head size of a supported model, decode and prefill, with windows and without.
size_t DifferentAttention(DataType type, const Devices& devices);

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_CPU_KERNEL_CHECKS_H_
