#include "tests/local_engine/cuda/planted.h"

namespace reenact::local_engine {

DeviceFault planted_device_fault = DeviceFault::kNone;

bool Planted(DeviceFault fault) {
  return fault == planted_device_fault;
}

}  // namespace reenact::local_engine
