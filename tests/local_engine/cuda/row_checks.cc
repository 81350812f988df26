// Operations that take rows one by one.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/elementwise.h"
#include "local_engine/cuda/logprob.h"
#include "local_engine/cuda/rms_norm.h"
#include "local_engine/reference/logprob.h"
#include "local_engine/reference/rms_norm.h"
#include "local_engine/reference/silu_mul.h"
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
      different += DifferentInAnySchedule(expected, [&](CudaDevice& device) {
        DeviceArray<float> values(x);  // In place.
        RmsNormRows(values.constant(), weights.constant(), 1e-5f, device, values.span());
        return values.Read();
      });
    }
  }
  return different;
}

size_t DifferentGates() {
  size_t different = 0;
  for (size_t count : {1, 255, 257, 2000}) {
    for (InputKind kind : kInputKinds) {
      const Floats gate = AdversarialFloats(kind, count, 11);
      const Floats up = AdversarialFloats(InputKind::kWide, count, 12);
      Floats expected(count);
      SiluMul(gate, up, expected);
      const DeviceArray<float> factors(up);
      different += DifferentInAnySchedule(expected, [&](CudaDevice& device) {
        DeviceArray<float> y(gate);
        SiluMul(y.constant(), factors.constant(), count, {}, device, y.span());
        return y.Read();
      });
    }
  }
  return different;
}

size_t DifferentResiduals() {
  const size_t count = 1000;
  const Floats x = AdversarialFloats(InputKind::kCancelling, count, 11);
  const Floats delta = AdversarialFloats(InputKind::kWide, count, 12);
  Floats expected(count);
  for (size_t k = 0; k < count; ++k) expected[k] = add_rn(x[k], delta[k]);
  const DeviceArray<float> deltas(delta);
  return DifferentInAnySchedule(expected, [&](CudaDevice& device) {
    DeviceArray<float> y(x);
    AddTo(deltas.constant(), device, y.span());
    return y.Read();
  });
}

size_t DifferentLogNormalisers() {
  constexpr size_t kRows = 3;
  size_t different = 0;
  for (size_t vocabulary : {1, 3, 255, 256, 4095, 4096, 4097, 9000}) {
    Floats logits = AdversarialFloats(InputKind::kUnit, kRows * vocabulary, 4);
    for (float& logit : logits) logit = mul_rn(logit, 12.0f);
    for (size_t k = 0; k < vocabulary; ++k) logits[k] = k % 3 == 1 ? -0.0f : 0.0f;
    if (vocabulary > 2) {
      logits[vocabulary + 1] = float_from_bits(0xff800000u);
      std::swap(logits[0], logits[1]);  // Negative zero first.
    }
    // A row whose sum is little more than 1: its logarithm shows every last place.
    const std::span<float> last = std::span(logits).last(vocabulary);
    for (float& logit : last) logit = -abs_bits(logit) - 8.0f;
    last[vocabulary / 2] = 0.0f;
    Floats expected;
    for (size_t row = 0; row < kRows; ++row) {
      const LogNormaliser normaliser =
          Normalise(std::span(logits).subspan(row * vocabulary, vocabulary));
      expected.insert(expected.end(), {normaliser.maximum, normaliser.log_sum});
    }
    const DeviceArray<float> values(logits);
    different += DifferentInAnySchedule(expected, [&](CudaDevice& device) {
      DeviceArray<float> normalisers(2 * kRows);
      NormaliseRows(values.constant(), kRows, device, normalisers.span());
      return normalisers.Read();
    });
  }
  return different;
}

}  // namespace reenact::local_engine
