#include "tests/local_engine/cpu/kernel_checks.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cpu/elementwise.h"
#include "local_engine/cpu/logprob.h"
#include "local_engine/cpu/matrix.h"
#include "local_engine/cpu/matrix_product.h"
#include "local_engine/cpu/rms_norm.h"
#include "local_engine/cpu/rotate.h"
#include "local_engine/numerics/fp_environment.h"
#include "local_engine/reference/logprob.h"
#include "local_engine/reference/rms_norm.h"
#include "local_engine/reference/rope.h"
#include "local_engine/reference/silu_mul.h"
#include "tests/local_engine/cpu/kernel_testing.h"
#include "tests/local_engine/cpu/reference_product.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {
namespace {

using Floats = std::vector<float>;

using Shape = ProductShape;

// Rows around the sizes of a tile, outputs around a panel's, K around a chunk's.
constexpr Shape kShapes[] = {{1, 1, 1},    {1, 33, 64},  {2, 31, 63},   {3, 32, 65},  {4, 70, 128},
                             {5, 16, 172}, {6, 17, 200}, {7, 96, 1000}, {8, 15, 90},  {9, 34, 130},
                             {11, 7, 320}, {12, 40, 96}, {13, 64, 127}, {24, 48, 64}, {29, 35, 33}};

size_t DifferentProduct(const StoredWeights& weights, const Floats& x, const Shape& shape,
                        const Devices& devices) {
  const Floats expected = ReferenceProduct(weights, x, shape);
  size_t different = 0;
  for (const auto& device : devices) {
    for (WeightPlacement placement : {WeightPlacement::kPacked, WeightPlacement::kInPlace}) {
      const auto matrix = Matrix::Make(weights.projection, placement, device->pool());
      Floats y(expected.size(), -7.0f);
      EXPECT_TRUE(matrix.ok() && Multiply(*matrix, x, shape.rows, *device, y).ok());
      different += DifferentBits(expected, y);
    }
  }
  return different;
}

}  // namespace

Devices DevicesOf(Isa isa, std::span<const int> thread_counts) {
  Devices devices;
  for (int threads : thread_counts) devices.push_back(DeviceFor(isa, threads));
  return devices;
}

size_t DifferentProducts(DataType type, const Devices& devices) {
  size_t different = 0;
  for (const Shape& listed : kShapes) {
    const Shape shape = Fitting(type, listed);
    for (InputKind kind : kInputKinds) {
      const StoredWeights weights(type, shape.outputs, shape.dim, kind);
      // Products of two subnormals would all be zero.
      const bool vanish = kind == InputKind::kSubnormal && !IsQuantised(type);
      const InputKind of_x = vanish ? InputKind::kUnit : kind;
      const Floats x = AdversarialFloats(of_x, shape.rows * shape.dim, shape.dim);
      different += DifferentProduct(weights, x, shape, devices);
    }
    if (different > 0) break;  // One shape says enough.
  }
  return different;
}

size_t DifferentBiasedProducts(DataType type, const Devices& devices) {
  const Shape shape = {5, 48, 96};
  StoredWeights weights(type, shape.outputs, shape.dim, InputKind::kWide);
  weights.projection.bias = AdversarialFloats(InputKind::kUnit, shape.outputs, 3);
  weights.projection.interleaved_head_dim = 16;
  const Floats x = AdversarialFloats(InputKind::kUnit, shape.rows * shape.dim, 4);
  return DifferentProduct(weights, x, shape, devices);
}

size_t DifferentNorms(const Devices& devices) {
  constexpr size_t kRows = 9;
  size_t different = 0;
  for (size_t dim : {1, 8, 64, 255, 256, 257, 1000, 2304}) {
    for (InputKind kind : kInputKinds) {
      const Floats x = AdversarialFloats(kind, kRows * dim, 5);
      const Floats weight = AdversarialFloats(InputKind::kUnit, dim, 6);
      Floats expected(x.size()), y(x.size());
      for (size_t row = 0; row < kRows; ++row) {
        RmsNorm(std::span(x).subspan(row * dim, dim), weight, 1e-5f,
                std::span(expected).subspan(row * dim, dim));
      }
      for (const auto& device : devices) {
        EXPECT_TRUE(RmsNormRows(x, weight, 1e-5f, *device, y).ok());
        different += DifferentBits(expected, y);
      }
    }
  }
  return different;
}

size_t DifferentRotations(const Devices& devices) {
  const RopeTable table = MakeRopeTable({.theta = 10000.0, .head_dim = 48}, 400);
  const std::vector<int32_t> positions = {0, 1, 7, 399, 7};
  size_t different = 0;
  for (InputKind kind : kInputKinds) {
    const Floats heads = AdversarialFloats(kind, positions.size() * 3 * 48, 2);
    Floats expected = heads;
    for (size_t head = 0; head < positions.size() * 3; ++head) {
      Rotate(table, positions[head / 3], std::span(expected).subspan(head * 48, 48));
    }
    for (const auto& device : devices) {
      Floats y = heads;
      EXPECT_TRUE(RotateRows({table.cos.data(), table.sin.data(), 24}, positions, *device, y).ok());
      different += DifferentBits(expected, y);
    }
  }
  return different;
}

size_t DifferentGates(const Devices& devices) {
  size_t different = 0;
  for (size_t count : {1, 15, 17, 5000, 40000}) {
    for (InputKind kind : kInputKinds) {
      const Floats gate = AdversarialFloats(kind, count, 11);
      const Floats up = AdversarialFloats(InputKind::kWide, count, 12);
      Floats expected(count);
      SiluMul(gate, up, expected);
      for (const auto& device : devices) {
        Floats y = gate;
        EXPECT_TRUE(SiluMul(y, up, *device, y).ok());
        different += DifferentBits(expected, y);
      }
    }
  }
  return different;
}

size_t DifferentResiduals(const Devices& devices) {
  size_t different = 0;
  for (size_t count : {1, 15, 17, 5000, 40000}) {
    const Floats x = AdversarialFloats(InputKind::kCancelling, count, 11);
    const Floats delta = AdversarialFloats(InputKind::kWide, count, 12);
    Floats expected(count);
    for (size_t k = 0; k < count; ++k) expected[k] = add_rn(x[k], delta[k]);
    for (const auto& device : devices) {
      Floats y = x;
      EXPECT_TRUE(AddTo(delta, *device, y).ok());
      different += DifferentBits(expected, y);
    }
  }
  return different;
}

size_t DifferentLogNormalisers(const Devices& devices) {
  constexpr size_t kRows = 3;
  size_t different = 0;
  for (size_t vocabulary : {1, 3, 255, 256, 4095, 4096, 4097, 32000}) {
    const Floats logits = ThreeRowsOfLogits(vocabulary);
    for (const auto& device : devices) {
      std::vector<RowNormaliser> rows(kRows);
      EXPECT_TRUE(NormaliseRows(logits, *device, rows).ok());
      for (size_t row = 0; row < kRows; ++row) {
        const LogNormaliser expected =
            Normalise(std::span(logits).subspan(row * vocabulary, vocabulary));
        different += float_bits(rows[row].maximum) != float_bits(expected.maximum);
        different += float_bits(rows[row].log_sum) != float_bits(expected.log_sum);
      }
    }
  }
  return different;
}

size_t ThreadsInWrongMode(const Devices& devices) {
  std::atomic<size_t> wrong{0};
  for (const auto& device : devices) {
    const auto threads = static_cast<size_t>(device->pool().thread_count());
    std::atomic<size_t> here{0};
    const absl::Status status = device->pool().Run(threads, [&](size_t, int) {
      wrong += !CheckFloatingPointEnvironment().ok();
      for (++here; here < threads;) std::this_thread::yield();  // Each thread takes one index.
    });
    EXPECT_TRUE(status.ok()) << status;
  }
  return wrong;
}

}  // namespace reenact::local_engine
