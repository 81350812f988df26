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
#include "local_engine/cuda/pick.h"
#include "local_engine/cuda/rms_norm.h"
#include "local_engine/reference/logprob.h"
#include "local_engine/reference/rms_norm.h"
#include "local_engine/reference/sampler.h"
#include "local_engine/reference/silu_mul.h"
#include "tests/local_engine/cpu/reference_product.h"
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
    const Floats logits = ThreeRowsOfLogits(vocabulary);
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

size_t DifferentPicks() {
  // Greedy and drawn rows, one of them by a seed of more than 32 bits, and one that asks nothing.
  const std::vector<RowPick> picks = {
      {.wanted = 1},
      {.key = {.seed = 7, .sample_index = 1, .position = 40}, .temperature = 1.0f, .wanted = 1},
      {},
      {.key = {.seed = uint64_t{9} << 40, .position = 3}, .temperature = 0.3f, .wanted = 1},
      {.wanted = 1}};
  size_t different = 0;
  for (size_t vocabulary : {1, 31, 257, 4096, 4097, 9000}) {
    Floats logits = AdversarialFloats(InputKind::kUnit, picks.size() * vocabulary, 4);
    // Equal ones in other threads, warps and chunks; all of the first row.
    for (size_t id = 0; id < vocabulary; ++id) logits[id] = id % 2 == 0 ? 0.0f : -0.0f;
    const size_t last = (picks.size() - 1) * vocabulary;
    for (size_t id = vocabulary / 3; id < vocabulary; id += 37) logits[last + id] = 9.0f;
    Floats expected;
    for (size_t row = 0; row < picks.size(); ++row) {
      Floats of_row(logits.begin() + static_cast<ptrdiff_t>(row * vocabulary),
                    logits.begin() + static_cast<ptrdiff_t>((row + 1) * vocabulary));
      const Floats untempered = of_row;
      const RowPick& pick = picks[row];
      if (pick.wanted == 0) continue;
      const auto token = static_cast<size_t>(
          Sample(of_row, {.settings = {.temperature = pick.temperature}, .key = pick.key}));
      expected.insert(expected.end(), {static_cast<float>(token), untempered[token]});
    }
    const DeviceArray<float> values(logits);
    const DeviceArray<RowPick> asked(picks);
    different += DifferentInAnySchedule(expected, [&](CudaDevice& device) {
      DeviceArray<PickedRow> picked(std::vector<PickedRow>(picks.size()));
      PickTokens(values.constant(), asked.constant(), device, picked.span());
      Floats actual;
      const std::vector<PickedRow> rows = picked.Read();
      for (size_t row = 0; row < picks.size(); ++row) {
        if (picks[row].wanted == 0) continue;
        actual.insert(actual.end(), {static_cast<float>(rows[row].token), rows[row].logit});
      }
      return actual;
    });
  }
  return different;
}

}  // namespace reenact::local_engine
