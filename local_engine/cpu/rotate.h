// Rotary position embedding of many rows of heads.

#ifndef REENACT_LOCAL_ENGINE_CPU_ROTATE_H_
#define REENACT_LOCAL_ENGINE_CPU_ROTATE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"

#include "local_engine/cpu/device.h"

namespace reenact::local_engine {

// Rows of the tables that reference/rope.h makes.
struct RotationTables {
  const float* cos = nullptr;  // [positions][half_dim]
  const float* sin = nullptr;  // [positions][half_dim]
  size_t half_dim = 0;
};

// The Rotate of reference/rope.h for each head of each row; row i is at positions[i].
// Shapes: heads [positions.size()][heads of 2 half_dim].
absl::Status RotateRows(const RotationTables& tables, std::span<const int32_t> positions,
                        CpuDevice& device, std::span<float> heads);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_ROTATE_H_
