// What the reference computes is right, not only fixed: each operation against the same formula in
// long double, within a stated bound.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/reference/attention.h"
#include "local_engine/reference/dot.h"
#include "local_engine/reference/logprob.h"
#include "local_engine/reference/quantised_dot.h"
#include "local_engine/reference/rms_norm.h"
#include "local_engine/reference/rope.h"
#include "local_engine/reference/sampler.h"
#include "local_engine/reference/silu_mul.h"
#include "tests/local_engine/reference/adversarial_floats.h"

namespace reenact::local_engine {
namespace {

using Floats = std::vector<float>;

TEST(Dot, IsWithinTheBoundOfItsTree) {
  for (size_t dim : {1, 3, 63, 172, 4097}) {
    for (InputKind kind : kInputKinds) {
      const Floats x = AdversarialFloats(kind, dim, 1);
      const Floats w = AdversarialFloats(InputKind::kUnit, dim, 2);
      long double exact = 0;
      long double magnitude = 0;
      for (size_t k = 0; k < dim; ++k) {
        exact += static_cast<long double>(x[k]) * w[k];
        magnitude += std::fabs(static_cast<long double>(x[k]) * w[k]);
      }
      // A term passes ceil(K / 32) fma and 5 additions at most, each within 2^-24 of its value.
      const auto roundings = static_cast<long double>(dim / 32 + 7);
      EXPECT_LE(std::fabs(Dot(x, w) - exact), magnitude * roundings * 0x1p-24L + 0x1p-140L) << dim;
    }
  }
}

TEST(Dot, PaddingTurnsAZeroThatUnderflowedPositive) {
  const Floats x(63, 0x1p-90f);
  const Floats w(63, -0x1p-90f);
  EXPECT_EQ(float_bits(Dot(x, w)), 0u);
  const Floats whole(64, 0x1p-90f);
  EXPECT_EQ(float_bits(Dot(whole, Floats(64, -0x1p-90f))), 0x80000000u) << "no padding, no change";
}

TEST(RmsNorm, IsTheFormula) {
  for (size_t dim : {1, 8, 257, 2304}) {
    const Floats x = AdversarialFloats(InputKind::kWide, dim, 3);
    const Floats weight = AdversarialFloats(InputKind::kUnit, dim, 4);
    Floats y(dim);
    RmsNorm(x, weight, 1e-5f, y);
    long double sum = 0;
    for (float value : x) sum += static_cast<long double>(value) * value;
    for (size_t k = 0; k < dim; ++k) {
      const long double exact = x[k] / std::sqrt(sum / dim + 1e-5f) * weight[k];
      ASSERT_LE(std::fabs(y[k] - exact), std::fabs(exact) * 2e-6L) << dim;
    }
  }
}

// Attention in long double, in one pass over the live keys.
std::vector<double> ExactAttention(const Floats& query, const KvRows& rows, LiveKeys live,
                                   float scale) {
  std::vector<long double> weights;
  long double maximum = -1e30L;
  for (int32_t j = live.first; j < live.end; ++j) {
    long double score = 0;
    for (size_t d = 0; d < query.size(); ++d) {
      score += static_cast<long double>(query[d]) * rows.keys[j * rows.stride + d];
    }
    weights.push_back(score * scale);
    maximum = std::max(maximum, weights.back());
  }
  long double sum = 0;
  std::vector<long double> out(query.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const long double weight = std::exp(weights[i] - maximum);
    sum += weight;
    const float* values = rows.values + (live.first + i) * rows.stride;
    for (size_t d = 0; d < out.size(); ++d) out[d] += weight * values[d];
  }
  std::vector<double> rounded;
  for (long double value : out) rounded.push_back(static_cast<double>(value / sum));
  return rounded;
}

TEST(Attention, IsTheFormulaAtEveryEdgeOfASplit) {
  for (const LiveKeys live : {LiveKeys{0, 1}, LiveKeys{0, 255}, LiveKeys{0, 256}, LiveKeys{0, 257},
                              LiveKeys{255, 256}, LiveKeys{256, 600}, LiveKeys{200, 520}}) {
    const size_t dim = 80;
    const Floats keys = AdversarialFloats(InputKind::kUnit, dim * 600, 5);
    const Floats values = AdversarialFloats(InputKind::kUnit, dim * 600, 6);
    const Floats query = AdversarialFloats(InputKind::kUnit, dim, 7);
    const KvRows rows = {keys.data(), values.data(), dim};
    Floats out(dim);
    Attend(query, rows, live, 0.7f, out);
    const std::vector<double> exact = ExactAttention(query, rows, live, 0.7f);
    for (size_t d = 0; d < dim; ++d) ASSERT_NEAR(out[d], exact[d], 2e-6) << live.first;
  }
}

TEST(Attention, KeysOutsideTheWindowDoNotCount) {
  const size_t dim = 8;
  Floats keys = AdversarialFloats(InputKind::kUnit, dim * 300, 8);
  Floats values = AdversarialFloats(InputKind::kUnit, dim * 300, 9);
  const Floats query = AdversarialFloats(InputKind::kUnit, dim, 10);
  const KvRows rows = {keys.data(), values.data(), dim};
  Floats before(dim);
  Attend(query, rows, {250, 290}, 1.0f, before);
  const float poison = float_from_bits(0x7fc00001u);
  std::fill_n(keys.begin(), 250 * dim, poison);
  std::fill_n(values.begin(), 250 * dim, poison);
  std::fill(keys.begin() + 290 * dim, keys.end(), poison);
  std::fill(values.begin() + 290 * dim, values.end(), poison);
  Floats after(dim);
  Attend(query, rows, {250, 290}, 1.0f, after);
  EXPECT_EQ(before, after);
}

TEST(Rope, TablesAreThoseOfTheFormula) {
  const RopeTable table = MakeRopeTable({.theta = 10000.0, .head_dim = 8}, 600);
  for (int position : {0, 1, 17, 599}) {
    for (int pair = 0; pair < 4; ++pair) {
      const auto frequency = static_cast<float>(std::pow(10000.0L, -pair / 4.0L));
      const double angle = static_cast<double>(frequency) * position;
      EXPECT_NEAR(table.cos[position * 4 + pair], std::cos(angle), 6e-8);
      EXPECT_NEAR(table.sin[position * 4 + pair], std::sin(angle), 6e-8);
    }
  }
}

TEST(Rope, Llama3StretchesLongWavelengthsAndKeepsShortOnes) {
  const RopeConfig plain = {.theta = 500000.0, .head_dim = 128};
  RopeConfig scaled = plain;
  scaled.scaling = RopeScaling::kLlama3;
  scaled.factor = 8;
  scaled.original_context = 8192;
  const Floats a = InverseFrequencies(plain);
  const Floats b = InverseFrequencies(scaled);
  EXPECT_EQ(a.front(), b.front());
  EXPECT_EQ(a[63] / 8, b[63]);
  // The frequency of pair 32 turns 8192 / (2 pi sqrt(500000)) = 1.84 times: it is blended.
  const double kept = (8192 / (2 * M_PI * std::sqrt(500000.0)) - 1) / 3;
  EXPECT_NEAR(b[32], a[32] * (kept + (1 - kept) / 8), 1e-9);
}

TEST(Rope, YarnRampsBetweenTheCorrectionPairs) {
  const RopeConfig plain = {.theta = 1000000.0, .head_dim = 128};
  RopeConfig scaled = plain;
  scaled.scaling = RopeScaling::kYarn;
  scaled.factor = 4;
  scaled.original_context = 32768;
  const Floats a = InverseFrequencies(plain);
  const Floats b = InverseFrequencies(scaled);
  // 64 ln(32768 / (2 pi r)) / ln(1e6) for r = 32 and 1: pairs 23.59 and 39.65, hence 23 and 40.
  EXPECT_EQ(a[23], b[23]);
  EXPECT_LT(b[24], a[24]);
  EXPECT_GT(b[39], a[39] / 4);
  EXPECT_EQ(b[40], a[40] / 4);
  const RopeTable table = MakeRopeTable(scaled, 1);
  EXPECT_NEAR(table.cos[0], 0.1 * std::log(4.0) + 1, 1e-7);
  scaled.attention_factor = 0.75;
  EXPECT_EQ(MakeRopeTable(scaled, 1).cos[0], 0.75f);
}

TEST(QuantisedDot, QuantisesToTheNearestStepAndDotsExactly) {
  const Floats x = AdversarialFloats(InputKind::kWide, 256, 11);
  const QuantisedRow row = QuantiseRow(x, kQ8GroupSize);
  for (size_t k = 0; k < x.size(); ++k) {
    const float scale = row.scales[k / 32];
    ASSERT_LE(std::fabs(row.values[k] * scale - x[k]), scale * 0.50001f) << k;
  }
  std::vector<Q8Block> w(8);
  SeededBits random(12);
  double exact = 0;
  for (size_t group = 0; group < w.size(); ++group) {
    w[group].scale_fp16 = narrow_to_fp16(0.01f * static_cast<float>(group + 1));
    for (size_t i = 0; i < 32; ++i) {
      w[group].values[i] = static_cast<int8_t>(random.Next());
      exact += static_cast<double>(w[group].values[i]) * widen_fp16(w[group].scale_fp16) *
               row.values[group * 32 + i] * row.scales[group];
    }
  }
  EXPECT_NEAR(DotQ8(row, w), exact, std::fabs(exact) * 1e-5);
}

TEST(QuantisedDot, ASubnormalScaleClampsInsteadOfWrapping) {
  Floats x(32, 0.0f);
  x[0] = 0x1p-149f * 190;  // absmax / 127 rounds to one last place; the quotient is 190.
  x[1] = -x[0];
  const QuantisedRow row = QuantiseRow(x, kQ8GroupSize);
  EXPECT_EQ(row.values[0], 127);
  EXPECT_EQ(row.values[1], -127);
}

TEST(SiluMul, IsTheFormulaAndHasNoNan) {
  const Floats gate = {-1000.0f, -89.0f, -20.0f, -1.0f, 0.0f, 1.0f, 50.0f, 1000.0f};
  Floats out(gate.size());
  SiluMul(gate, Floats(gate.size(), 2.0f), out);
  for (size_t i = 0; i < gate.size(); ++i) {
    const double exact = 2.0 * gate[i] / (1.0 + std::exp(-static_cast<double>(gate[i])));
    EXPECT_NEAR(out[i], exact, std::fabs(exact) * 1e-6 + 1e-35) << gate[i];
  }
}

TEST(Logprob, SumsToOne) {
  Floats logits = AdversarialFloats(InputKind::kUnit, 9000, 13);
  for (float& logit : logits) logit *= 20.0f;
  logits[17] = -HUGE_VALF;
  const LogNormaliser normaliser = Normalise(logits);
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(Logprob(logit, normaliser)));
  EXPECT_NEAR(sum, 1.0, 3e-6);
}

TEST(Sampler, TiesGoToTheLowestId) {
  Floats logits = {1.0f, 5.0f, 5.0f, 5.0f, 0.0f};
  EXPECT_EQ(ArgMax(logits), 1);
  KeepTopK(logits, 2);
  EXPECT_EQ(logits[1], 5.0f);
  EXPECT_EQ(logits[2], 5.0f);
  EXPECT_EQ(logits[3], -HUGE_VALF);
}

TEST(Sampler, TopPKeepsTheFewestTokensThatHoldTheMass) {
  // Masses 1, 1/2, 1/4, 1/4 of 2: half of it is the first alone, and not a token more.
  const Floats logits = {0.0f, std::log(0.5f), std::log(0.25f), std::log(0.25f)};
  const auto kept = [&](float top_p) {
    Floats cut = logits;
    KeepTopP(cut, top_p);
    return std::count_if(cut.begin(), cut.end(), [](float l) { return l != -HUGE_VALF; });
  };
  EXPECT_EQ(kept(0.4999f), 1);
  EXPECT_EQ(kept(0.51f), 2);
  EXPECT_EQ(kept(0.74f), 2);
  EXPECT_EQ(kept(0.76f), 3);
  EXPECT_EQ(kept(0.0f), 1);
}

TEST(Sampler, DrawsFollowTheProbabilities) {
  const Floats logits = {std::log(0.5f), std::log(0.3f), std::log(0.2f), -HUGE_VALF};
  int counts[4] = {};
  for (uint32_t position = 0; position < 20000; ++position) {
    ++counts[Draw(logits, {.seed = 1, .position = position})];
  }
  EXPECT_NEAR(counts[0], 10000, 300);  // Over four standard deviations.
  EXPECT_NEAR(counts[1], 6000, 280);
  EXPECT_NEAR(counts[2], 4000, 240);
  EXPECT_EQ(counts[3], 0);
}

TEST(Sampler, TemperatureZeroAndTopKOneAreTheSameAndDrawNothing) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Floats logits = AdversarialFloats(InputKind::kUnit, 100, seed);
    Floats a = logits;
    Floats b = logits;
    const int32_t cold = Sample(a, {.settings = {.temperature = 0}, .key = {.seed = seed}});
    const int32_t first =
        Sample(b, {.settings = {.temperature = 1.7f, .top_k = 1}, .key = {.seed = seed + 1}});
    EXPECT_EQ(cold, first);
    EXPECT_EQ(cold, ArgMax(logits));
  }
}

}  // namespace
}  // namespace reenact::local_engine
