#include "local_engine/engine/physical_cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <utility>

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

int PhysicalCoreCount() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  std::set<std::pair<int, int>> cores;  // Package and core.
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed)) continue;
    const int core = TopologyOf(processor, "core_id");
    if (core < 0) return std::max(1, CPU_COUNT(&allowed));
    cores.emplace(TopologyOf(processor, "physical_package_id"), core);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

}  // namespace reenact::local_engine
