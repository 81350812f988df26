#include "tests/local_engine/reference/golden_operations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "local_engine/numerics/exp_log.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/numerics/philox.h"
#include "local_engine/numerics/pow_sincos.h"
#include "local_engine/numerics/sha256.h"
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

class ResultHash {
 public:
  void Add(float value) { hash_.Update(&value, sizeof(value)); }

  void Add(const Floats& values) { hash_.UpdateValues(std::span<const float>(values)); }

  template <typename T>
  void AddInteger(T value) {
    hash_.Update(&value, sizeof(value));
  }

  std::string Text() { return HexText(hash_.Finish()); }

 private:
  Sha256 hash_;
};

constexpr uint32_t kStride = 16411;  // A prime: 260,000 of the 2^32 bit patterns.

std::string HashOfUnaryFunctions() {
  ResultHash hash;
  for (uint64_t bits = 0; bits < 0x100000000u; bits += kStride) {
    const float x = float_from_bits(static_cast<uint32_t>(bits));
    if (!is_finite(x)) continue;
    hash.Add(Exp(x));
    if (x >= 0x1p-126f) hash.Add(Log(x));
    if (x >= 0.0f) hash.Add(sqrt_rn(x));
    hash.AddInteger(narrow_to_bf16(x));
    hash.AddInteger(narrow_to_fp16(x));
    hash.Add(widen_fp16(static_cast<uint16_t>(narrow_to_fp16(x) & 0xfbff)));
  }
  return hash.Text();
}

std::string HashOfFma() {
  ResultHash hash;
  for (InputKind a : kInputKinds) {
    for (InputKind c : kInputKinds) {
      const Floats x = AdversarialFloats(a, 2000, 1);
      const Floats y = AdversarialFloats(InputKind::kWide, 2000, 2);
      const Floats z = AdversarialFloats(c, 2000, 3);
      for (size_t i = 0; i < x.size(); ++i) {
        hash.Add(fma_rn(x[i], y[i], z[i]));
        hash.Add(fma_rn(x[i], x[i], -mul_rn(x[i], x[i])));
      }
    }
  }
  return hash.Text();
}

std::string HashOfPowSinCos() {
  ResultHash hash;
  for (int i = 0; i < 3000; ++i) {
    hash.AddInteger(Pow(10000.0 + 333.0 * i, -i / 3000.0));
    const SinCosPair at = SinCos(i * 341.25 - 500000.0);
    hash.AddInteger(at.sin);
    hash.AddInteger(at.cos);
  }
  return hash.Text();
}

std::string HashOfDraws() {
  ResultHash hash;
  for (uint32_t i = 0; i < 5000; ++i) {
    const DrawKey key = {.seed = uint64_t{i} * 0x100000001u, .sample_index = i % 7, .position = i};
    hash.Add(UniformFromBits(DrawBits(key, i * 31)));
  }
  return hash.Text();
}

std::string HashOfDot() {
  ResultHash hash;
  for (size_t dim : {1, 2, 3, 31, 33, 63, 64, 65, 127, 172, 1000, 4097}) {
    for (InputKind kind : kInputKinds) {
      const Floats x = AdversarialFloats(kind, dim, dim);
      for (InputKind weights : {InputKind::kUnit, InputKind::kSubnormal, kind}) {
        Floats w = AdversarialFloats(weights, dim, dim + 1);
        if (kind == InputKind::kVanishing) {
          for (float& value : w) value = -abs_bits(value);
        }
        hash.Add(Dot(x, w));
        for (float& value : w) value = widen_bf16(narrow_to_bf16(value));
        hash.Add(Dot(x, w));
      }
    }
  }
  return hash.Text();
}

std::string HashOfRmsNorm() {
  ResultHash hash;
  for (size_t dim : {1, 8, 64, 255, 256, 257, 1000, 2304}) {
    for (InputKind kind : kInputKinds) {
      Floats y(dim);
      RmsNorm(AdversarialFloats(kind, dim, 5), AdversarialFloats(InputKind::kUnit, dim, 6), 1e-5f,
              y);
      hash.Add(y);
    }
  }
  return hash.Text();
}

std::string HashOfRopeTable(const RopeConfig& config) {
  const RopeTable table = MakeRopeTable(config, 1500);
  ResultHash hash;
  hash.Add(InverseFrequencies(config));
  hash.Add(table.cos);
  hash.Add(table.sin);
  return hash.Text();
}

std::string HashOfPlainRope() {
  return HashOfRopeTable({.theta = 10000.0, .head_dim = 80});
}

std::string HashOfLlama3Rope() {
  return HashOfRopeTable({.theta = 500000.0,
                          .head_dim = 128,
                          .scaling = RopeScaling::kLlama3,
                          .factor = 8.0,
                          .original_context = 8192,
                          .low_frequency_factor = 1.0,
                          .high_frequency_factor = 4.0});
}

std::string HashOfYarnRope() {
  return HashOfRopeTable({.theta = 1000000.0,
                          .head_dim = 128,
                          .scaling = RopeScaling::kYarn,
                          .factor = 4.0,
                          .original_context = 32768});
}

std::string HashOfRotation() {
  const RopeTable table = MakeRopeTable({.theta = 10000.0, .head_dim = 64}, 400);
  ResultHash hash;
  for (int32_t position = 0; position < 400; position += 7) {
    for (InputKind kind : kInputKinds) {
      Floats head = AdversarialFloats(kind, 64, static_cast<uint64_t>(position));
      Rotate(table, position, head);
      hash.Add(head);
    }
  }
  return hash.Text();
}

void HashAttention(size_t head_dim, int32_t end, int32_t window, ResultHash* hash) {
  const auto positions = static_cast<size_t>(end);
  const Floats keys = AdversarialFloats(InputKind::kUnit, positions * head_dim, head_dim);
  for (InputKind kind : {InputKind::kUnit, InputKind::kWide, InputKind::kSubnormal}) {
    const Floats values = AdversarialFloats(kind, positions * head_dim, head_dim + 1);
    Floats query = AdversarialFloats(InputKind::kUnit, head_dim, head_dim + 2);
    for (float& value : query) value = mul_rn(value, 5.0f);
    const KvRows rows = {keys.data(), values.data(), head_dim};
    const LiveKeys live = {.first = std::max(0, end - window), .end = end};
    Floats out(head_dim);
    Attend(query, rows, live, div_rn(1.0f, sqrt_rn(static_cast<float>(head_dim))), out);
    hash->Add(out);
  }
}

std::string HashOfAttention() {
  ResultHash hash;
  for (int32_t end : {1, 31, 32, 33, 255, 256, 257, 300, 700}) {
    HashAttention(8, end, 1 << 20, &hash);
    HashAttention(80, end, 1 << 20, &hash);
    HashAttention(16, end, 100, &hash);
    HashAttention(16, end, 290, &hash);
  }
  for (size_t head_dim : {64, 96, 128, 256}) HashAttention(head_dim, 290, 1 << 20, &hash);
  return hash.Text();
}

std::vector<Q8Block> RandomBlocks(size_t count, uint64_t seed) {
  SeededBits random(seed);
  std::vector<Q8Block> blocks(count);
  for (Q8Block& block : blocks) {
    block.scale_fp16 = static_cast<uint16_t>(random.Next() % 0x3800u);  // From subnormal to 0.5.
    for (int8_t& value : block.values) value = static_cast<int8_t>(random.Next());
  }
  return blocks;
}

std::string HashOfQuantisedRow() {
  ResultHash hash;
  for (InputKind kind : kInputKinds) {
    const QuantisedRow row = QuantiseRow(AdversarialFloats(kind, 8192, 9), kQ8GroupSize);
    hash.Add(row.scales);
    for (int8_t value : row.values) hash.AddInteger(value);
  }
  return hash.Text();
}

std::string HashOfDotQ8() {
  ResultHash hash;
  for (size_t dim : {32, 64, 96, 160, 768, 2048}) {
    for (InputKind kind : kInputKinds) {
      const QuantisedRow x = QuantiseRow(AdversarialFloats(kind, dim, dim), kQ8GroupSize);
      for (uint64_t row = 0; row < 8; ++row) hash.Add(DotQ8(x, RandomBlocks(dim / 32, dim + row)));
    }
  }
  return hash.Text();
}

std::string HashOfDotW8A8() {
  ResultHash hash;
  for (size_t dim : {1, 31, 64, 4096}) {
    SeededBits random(dim);
    std::vector<int8_t> w(dim);
    for (int8_t& value : w) value = static_cast<int8_t>(random.Next());
    for (InputKind kind : kInputKinds) {
      const QuantisedRow x = QuantiseRow(AdversarialFloats(kind, dim, dim), dim);
      hash.Add(DotW8A8(x, w, 0.0123f));
    }
  }
  return hash.Text();
}

std::string HashOfSiluMul() {
  ResultHash hash;
  for (InputKind kind : kInputKinds) {
    Floats gate = AdversarialFloats(kind, 5000, 11);
    SiluMul(gate, AdversarialFloats(InputKind::kWide, 5000, 12), gate);
    hash.Add(gate);
  }
  return hash.Text();
}

Floats Logits(size_t count, uint64_t seed) {
  Floats logits = AdversarialFloats(InputKind::kUnit, count, seed);
  for (float& logit : logits) logit = mul_rn(logit, 12.0f);
  for (size_t i = 3; i < count; i += 17) logits[i] = logits[i - 2];  // Exact ties.
  return logits;
}

std::string HashOfLogprobs() {
  ResultHash hash;
  for (size_t count : {1, 255, 4096, 4097, 32000}) {
    const Floats logits = Logits(count, count);
    const LogNormaliser normaliser = Normalise(logits);
    hash.Add(SumOfExp(logits, normaliser.maximum));
    hash.Add(SumOfExp(AdversarialFloats(InputKind::kUnit, count, count), 1.0f));
    hash.Add(normaliser.log_sum);
    for (float logit : logits) hash.Add(Logprob(logit, normaliser));
  }
  return hash.Text();
}

std::string HashOfCuts() {
  ResultHash hash;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Floats logits = Logits(2000, seed);
    logits[777] = logits[5] = 12.5f;  // A tie for the maximum.
    hash.AddInteger(ArgMax(logits));
    const TokenBias biases[] = {{3, 1.5f}, {1999, -100.0f}};
    const TokenCount counts[] = {{5, 1, 2}, {6, 3, 0}, {777, 0, 5}};
    AddBias(logits, biases);
    Penalise(logits, counts,
             {.repetition_penalty = 1.3f, .presence_penalty = 0.2f, .frequency_penalty = 0.1f});
    Temper(logits, 0.8f);
    hash.Add(logits);
    Floats cut = logits;
    KeepTopK(cut, 40 + static_cast<int32_t>(seed));
    hash.Add(cut);
    for (float top_p : {1e-6f, 0.5f, 0.9f, 0.999f}) {
      cut = logits;
      KeepTopP(cut, top_p);
      hash.Add(cut);
    }
    cut = logits;
    KeepMinP(cut, 0.05f);
    hash.Add(cut);
  }
  return hash.Text();
}

std::string HashOfSamples() {
  ResultHash hash;
  for (uint32_t position = 0; position < 200; ++position) {
    Floats logits = Logits(500, position % 11);
    const SamplerInput input = {
        .settings = {.temperature = 0.8f, .top_k = 60, .top_p = 0.95f, .min_p = 0.01f},
        .key = {.seed = 42, .sample_index = position % 3, .position = position}};
    hash.AddInteger(Sample(logits, input));
  }
  return hash.Text();
}

constexpr GoldenOperation kOperations[] = {
    {"unary", HashOfUnaryFunctions},
    {"fma", HashOfFma},
    {"pow_sincos", HashOfPowSinCos},
    {"draws", HashOfDraws},
    {"dot", HashOfDot},
    {"rms_norm", HashOfRmsNorm},
    {"rope_plain", HashOfPlainRope},
    {"rope_llama3", HashOfLlama3Rope},
    {"rope_yarn", HashOfYarnRope},
    {"rope_rotation", HashOfRotation},
    {"attention", HashOfAttention},
    {"quantised_row", HashOfQuantisedRow},
    {"dot_q8", HashOfDotQ8},
    {"dot_w8a8", HashOfDotW8A8},
    {"silu_mul", HashOfSiluMul},
    {"logprob", HashOfLogprobs},
    {"cuts", HashOfCuts},
    {"samples", HashOfSamples},
};

}  // namespace

std::span<const GoldenOperation> GoldenOperations() {
  return kOperations;
}

}  // namespace reenact::local_engine
