// Operations that take rows one by one.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cuda/device_queue.h"
#include "local_engine/cuda/rms_norm.h"
#include "local_engine/reference/rms_norm.h"
#include "tests/local_engine/cuda/device_array.h"
#include "tests/local_engine/cuda/emulation/execution.h"
#include "tests/local_engine/cuda/kernel_checks.h"
#include "tests/local_engine/cuda/schedules.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {

using Floats = std::vector<float>;

size_t DifferentNorms() {
  constexpr size_t kRows = 3;
  size_t different = 0;
  for (size_t dim : {1, 8, 64, 255, 256, 257, 1000, 2304}) {
    for (InputKind kind : kInputKinds) {
      const Floats x = AdversarialFloats(kind, kRows * dim, 5);
      const Floats weight = AdversarialFloats(InputKind::kUnit, dim, 6);
      Floats expected(x.size());
      for (size_t row = 0; row < kRows; ++row) {
        RmsNorm(std::span(x).subspan(row * dim, dim), weight, 1e-5f,
                std::span(expected).subspan(row * dim, dim));
      }
      const DeviceArray<float> weights(weight);
      different += DifferentInAnySchedule(expected, [&](DeviceQueue& queue) {
        DeviceArray<float> values(x);  // In place.
        RmsNormRows(values.constant(), weights.constant(), 1e-5f, queue, values.span());
        return values.Read();
      });
    }
  }
  return different;
}

}  // namespace reenact::local_engine
