#include "local_engine/cpu/processor_order.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "local_engine/numerics/planted_support_fault.h"

namespace reenact::local_engine {
namespace {

// -1 where the system does not tell.
int TopologyOf(int processor, const char* what) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/" +
                     what);
  int value = -1;
  return file >> value ? value : -1;
}

}  // namespace

std::vector<int> EachCoreFirst(std::span<const ProcessorPlace> places) {
  std::map<std::pair<int, int>, int> taken;     // Of each core.
  std::vector<std::pair<int, int>> by_sibling;  // Which one of its core, and the processor.
  for (const ProcessorPlace& place : places) {
    const bool own_core = place.core < 0 && !Planted(SupportFault::kUnknownCoresAreOne);
    const int sibling = own_core || Planted(SupportFault::kCoreTwiceBeforeOthers)
                            ? 0
                            : taken[{place.package, place.core}]++;
    by_sibling.emplace_back(sibling, place.processor);
  }
  std::ranges::stable_sort(by_sibling, {}, &std::pair<int, int>::first);
  std::vector<int> processors;
  for (const auto& [sibling, processor] : by_sibling) processors.push_back(processor);
  return processors;
}

std::vector<int> AllowedProcessors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  std::vector<ProcessorPlace> places;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    places.push_back({cpu, TopologyOf(cpu, "physical_package_id"), TopologyOf(cpu, "core_id")});
  }
  return EachCoreFirst(places);
}

}  // namespace reenact::local_engine
