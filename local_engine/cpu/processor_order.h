// In which order processors are given to threads: each core once before any core twice, since two
// threads on one core share its multipliers.

#ifndef REENACT_LOCAL_ENGINE_CPU_PROCESSOR_ORDER_H_
#define REENACT_LOCAL_ENGINE_CPU_PROCESSOR_ORDER_H_

#include <span>
#include <vector>

namespace reenact::local_engine {

struct ProcessorPlace {
  int processor = 0;
  int package = -1;
  int core = -1;  // Of its package; -1 where the system does not tell: a core of its own.
};

// The processors of `places`, otherwise in their order.
std::vector<int> EachCoreFirst(std::span<const ProcessorPlace> places);

// Those that the calling thread may run on, ordered so; none where the system does not tell.
std::vector<int> AllowedProcessors();

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_PROCESSOR_ORDER_H_
