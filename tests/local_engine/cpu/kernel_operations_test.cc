// Norm, rotation, gate, log-probabilities and attention on every instruction set of this machine,
// against reference/, as uint32.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cpu/attention.h"
#include "local_engine/cpu/elementwise.h"
#include "local_engine/cpu/logprob.h"
#include "local_engine/cpu/rms_norm.h"
#include "local_engine/cpu/rotate.h"
#include "local_engine/reference/attention.h"
#include "local_engine/reference/logprob.h"
#include "local_engine/reference/rms_norm.h"
#include "local_engine/reference/rope.h"
#include "local_engine/reference/silu_mul.h"
#include "tests/local_engine/cpu/kernel_testing.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {
namespace {

using Floats = std::vector<float>;

class Operations : public testing::TestWithParam<Isa> {
 protected:
  const std::unique_ptr<CpuDevice> device_ = DeviceFor(GetParam(), 3);
};

TEST_P(Operations, RmsNormOfEveryRowIsTheReferences) {
  for (size_t dim : {1, 8, 64, 255, 256, 257, 1000, 2304}) {
    for (InputKind kind : kInputKinds) {
      const Floats x = AdversarialFloats(kind, 9 * dim, 5);
      const Floats weight = AdversarialFloats(InputKind::kUnit, dim, 6);
      Floats expected(x.size()), y(x.size());
      for (size_t row = 0; row < 9; ++row) {
        RmsNorm(std::span(x).subspan(row * dim, dim), weight, 1e-5f,
                std::span(expected).subspan(row * dim, dim));
      }
      ASSERT_TRUE(RmsNormRows(x, weight, 1e-5f, *device_, y).ok());
      EXPECT_EQ(DifferentBits(expected, y), 0u) << dim;
    }
  }
}

TEST_P(Operations, RotationIsTheReferences) {
  const RopeTable table = MakeRopeTable({.theta = 10000.0, .head_dim = 48}, 400);
  const std::vector<int32_t> positions = {0, 1, 7, 399, 7};
  for (InputKind kind : kInputKinds) {
    Floats heads = AdversarialFloats(kind, positions.size() * 3 * 48, 2);
    Floats expected = heads;
    for (size_t head = 0; head < positions.size() * 3; ++head) {
      Rotate(table, positions[head / 3], std::span(expected).subspan(head * 48, 48));
    }
    ASSERT_TRUE(
        RotateRows({table.cos.data(), table.sin.data(), 24}, positions, *device_, heads).ok());
    EXPECT_EQ(DifferentBits(expected, heads), 0u);
  }
}

TEST_P(Operations, GateAndResidualAreTheReferences) {
  for (size_t count : {1, 15, 17, 5000, 40000}) {
    for (InputKind kind : kInputKinds) {
      const Floats gate = AdversarialFloats(kind, count, 11);
      const Floats up = AdversarialFloats(InputKind::kWide, count, 12);
      Floats expected(count), out(count);
      SiluMul(gate, up, expected);
      ASSERT_TRUE(SiluMul(gate, up, *device_, out).ok());
      EXPECT_EQ(DifferentBits(expected, out), 0u);
      for (size_t k = 0; k < count; ++k) expected[k] = add_rn(expected[k], up[k]);
      ASSERT_TRUE(AddTo(up, *device_, out).ok());
      EXPECT_EQ(DifferentBits(expected, out), 0u);
    }
  }
}

TEST_P(Operations, OneValueThatIsNotFiniteIsFoundWhereverItIs) {
  Floats x = AdversarialFloats(InputKind::kWide, 77, 1);
  EXPECT_TRUE(AllFinite(x, *device_));
  for (size_t at : {0, 15, 64, 76}) {
    for (uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00001u}) {
      const float kept = x[at];
      x[at] = float_from_bits(bits);
      EXPECT_FALSE(AllFinite(x, *device_));
      x[at] = kept;
    }
  }
}

TEST_P(Operations, LogNormalisersAreTheReferences) {
  for (size_t vocabulary : {1, 3, 255, 256, 4095, 4096, 4097, 32000}) {
    Floats logits = AdversarialFloats(InputKind::kUnit, 3 * vocabulary, 4);
    for (float& logit : logits) logit = mul_rn(logit, 12.0f);
    for (size_t k = 0; k < vocabulary; ++k) logits[k] = k % 3 == 1 ? -0.0f : 0.0f;
    if (vocabulary > 2) {
      logits[vocabulary + 1] = float_from_bits(0xff800000u);
      std::swap(logits[0], logits[1]);  // Negative zero first.
    }
    std::vector<RowNormaliser> rows(3);
    ASSERT_TRUE(NormaliseRows(logits, *device_, rows).ok());
    for (size_t row = 0; row < 3; ++row) {
      const LogNormaliser expected =
          Normalise(std::span(logits).subspan(row * vocabulary, vocabulary));
      EXPECT_EQ(float_bits(rows[row].maximum), float_bits(expected.maximum)) << vocabulary;
      EXPECT_EQ(float_bits(rows[row].log_sum), float_bits(expected.log_sum)) << vocabulary;
    }
  }
}

// A cache of one KV head, as blocks with garbage where nothing was stored, and as plain rows.
struct Cache {
  Cache(DataType type, size_t head_dim, size_t positions, InputKind kind)
      : shape{type, head_dim}, keys(positions * head_dim), values(positions * head_dim) {
    const Floats key = AdversarialFloats(InputKind::kUnit, keys.size(), head_dim);
    const Floats value = AdversarialFloats(kind, keys.size(), head_dim + 1);
    for (size_t at = 0; at < positions; at += 32) {
      blocks.emplace_back(shape.SizeBytes() + 64, std::byte{0xff});  // NaN in every type.
    }
    for (size_t at = 0; at < positions; ++at) {
      StoreKeyValue(shape, at % 32, &key[at * head_dim], &value[at * head_dim],
                    blocks[at / 32].data());
      LoadKeyValue(shape, at % 32, blocks[at / 32].data(), &keys[at * head_dim],
                   &values[at * head_dim]);
    }
    for (const std::vector<std::byte>& block : blocks) pointers.push_back(block.data());
  }

  KvBlockShape shape;
  Floats keys, values;  // As they were rounded.
  std::vector<std::vector<std::byte>> blocks;
  std::vector<const void*> pointers;
};

// Queries at every position of `ends`, `heads` each, against the reference.
void ExpectReferenceAttention(const Cache& cache, const std::vector<int32_t>& ends, int32_t window,
                              int32_t heads, CpuDevice& device) {
  const size_t dim = cache.shape.head_dim;
  const size_t row_dim = static_cast<size_t>(heads) * dim;
  Floats queries = AdversarialFloats(InputKind::kUnit, ends.size() * row_dim, dim + 2);
  for (float& value : queries) value = mul_rn(value, 5.0f);
  Floats expected(queries.size()), out(queries.size(), -7.0f);
  std::vector<AttentionRow> rows;
  for (size_t row = 0; row < ends.size(); ++row) {
    const LiveKeys live = {std::max(0, ends[row] - window), ends[row]};
    rows.push_back({&queries[row * row_dim], &out[row * row_dim], live.first, live.end});
    for (size_t at = row * row_dim; at < (row + 1) * row_dim; at += dim) {
      Attend(std::span(queries).subspan(at, dim), {cache.keys.data(), cache.values.data(), dim},
             live, 0.25f, std::span(expected).subspan(at, dim));
    }
  }
  const AttentionTask task = {cache.pointers, rows};
  ASSERT_TRUE(AttendTasks({&task, 1}, cache.shape, heads, 0.25f, device).ok());
  EXPECT_EQ(DifferentBits(expected, out), 0u)
      << "head_dim " << dim << ", window " << window << ", " << heads << " heads";
}

TEST_P(Operations, AttentionIsTheReferencesForDecodeAndPrefill) {
  for (DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (size_t head_dim : {8, 16, 80, 128}) {
      for (InputKind kind : {InputKind::kUnit, InputKind::kSubnormal}) {
        const Cache cache(type, head_dim, 600, kind);
        std::vector<int32_t> prefill;
        for (int32_t end = 245; end < 275; ++end) prefill.push_back(end);
        for (int32_t heads : {1, 3, 8}) {
          for (int32_t window : {1 << 20, 100, 300}) {
            ExpectReferenceAttention(cache, {1, 31, 32, 33, 600}, window, heads, *device_);
            ExpectReferenceAttention(cache, prefill, window, heads, *device_);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, Operations, testing::ValuesIn(AvailableIsas()),
                         [](const auto& which) { return std::string(IsaName(which.param)); });

}  // namespace
}  // namespace reenact::local_engine
