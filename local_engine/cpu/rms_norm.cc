#include "local_engine/cpu/rms_norm.h"

#include <cstddef>
#include <span>

#include "absl/status/status.h"

#include "local_engine/cpu/internal/kernel_table.h"

namespace reenact::local_engine {

absl::Status RmsNormRows(std::span<const float> x, std::span<const float> weight, float epsilon,
                         CpuDevice& device, std::span<float> y) {
  const size_t dim = weight.size();
  return device.Run(x.size() / dim, dim, [&](size_t row, int) {
    device.kernels().rms_norm(x.data() + row * dim, weight.data(), dim, epsilon,
                              y.data() + row * dim);
  });
}

}  // namespace reenact::local_engine
