#include "local_engine/cpu/rotate.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"

#include "local_engine/cpu/internal/kernel_table.h"

namespace reenact::local_engine {

absl::Status RotateRows(const RotationTables& tables, std::span<const int32_t> positions,
                        CpuDevice& device, std::span<float> heads) {
  const size_t row_dim = positions.empty() ? 0 : heads.size() / positions.size();
  return device.Run(positions.size(), row_dim, [&](size_t row, int) {
    const size_t at = static_cast<size_t>(positions[row]) * tables.half_dim;
    for (size_t begin = 0; begin < row_dim; begin += 2 * tables.half_dim) {
      device.kernels().rotate(tables.cos + at, tables.sin + at, tables.half_dim,
                              heads.data() + row * row_dim + begin);
    }
  });
}

}  // namespace reenact::local_engine
