#include "local_engine/reference/rope.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "local_engine/numerics/operations.h"
#include "local_engine/numerics/pow_sincos.h"
#include "local_engine/numerics/sha256.h"
#include "local_engine/reference/planted_fault.h"

namespace reenact::local_engine {
namespace {

constexpr double kTwoPi = 6.283185307179586;

// Long wavelengths are stretched by the factor, short ones kept, those between blended.
double ScaledByLlama3(const RopeConfig& config, double frequency) {
  const double turns = config.original_context * frequency / kTwoPi;
  if (turns > config.high_frequency_factor) return frequency;
  if (turns < config.low_frequency_factor) return frequency / config.factor;
  const double kept = (turns - config.low_frequency_factor) /
                      (config.high_frequency_factor - config.low_frequency_factor);
  return (1.0 - kept) * (frequency / config.factor) + kept * frequency;
}

// The pair, as a real number, that turns `rotations` times over the original context.
double YarnPairOfRotations(const RopeConfig& config, double rotations) {
  return config.head_dim * LogDouble(config.original_context / (rotations * kTwoPi)) /
         (2.0 * LogDouble(config.theta));
}

double Floor(double x) {
  const auto truncated = static_cast<double>(static_cast<int64_t>(x));
  return truncated > x ? truncated - 1.0 : truncated;
}

// Pairs below `low` keep their frequency, those above `high` are divided, a linear ramp between.
double ScaledByYarn(const RopeConfig& config, int32_t pair, double frequency) {
  const double low = std::max(0.0, Floor(YarnPairOfRotations(config, config.beta_fast)));
  double high =
      std::min(config.head_dim - 1.0, -Floor(-YarnPairOfRotations(config, config.beta_slow)));
  if (high == low) high += 0.001;
  const double ramp = std::clamp((pair - low) / (high - low), 0.0, 1.0);
  return frequency / config.factor * ramp + frequency * (1.0 - ramp);
}

double AttentionFactor(const RopeConfig& config) {
  if (config.scaling != RopeScaling::kYarn) return 1.0;
  if (config.attention_factor != 0) return config.attention_factor;
  return config.factor <= 1.0 ? 1.0 : 0.1 * LogDouble(config.factor) + 1.0;
}

}  // namespace

std::vector<float> InverseFrequencies(const RopeConfig& config) {
  std::vector<float> frequencies;
  for (int32_t pair = 0; pair < config.head_dim / 2; ++pair) {
    double frequency = Pow(config.theta, -2.0 * pair / config.head_dim);
    if (config.scaling == RopeScaling::kLlama3) frequency = ScaledByLlama3(config, frequency);
    if (config.scaling == RopeScaling::kYarn) frequency = ScaledByYarn(config, pair, frequency);
    if (!config.frequency_divisors.empty()) frequency /= config.frequency_divisors[pair];
    frequencies.push_back(static_cast<float>(frequency));
  }
  return frequencies;
}

RopeTable MakeRopeTable(const RopeConfig& config, int32_t positions) {
  const std::vector<float> frequencies = InverseFrequencies(config);
  const double factor = AttentionFactor(config);
  RopeTable table{.half_dim = config.head_dim / 2};
  table.cos.reserve(frequencies.size() * static_cast<size_t>(positions));
  table.sin.reserve(frequencies.size() * static_cast<size_t>(positions));
  for (int32_t position = 0; position < positions; ++position) {
    for (float frequency : frequencies) {
      double angle = static_cast<double>(position) * static_cast<double>(frequency);
      if (Planted(PlantedFault::kRopeFloatAngle)) {
        angle = mul_rn(static_cast<float>(position), frequency);
      }
      const SinCosPair at = SinCos(angle);
      table.cos.push_back(static_cast<float>(at.cos * factor));
      table.sin.push_back(static_cast<float>(at.sin * factor));
    }
  }
  return table;
}

Sha256Digest RopeTable::Digest() const {
  Sha256 hash;
  hash.UpdateValues(std::span<const float>(cos));
  hash.UpdateValues(std::span<const float>(sin));
  return hash.Finish();
}

void Rotate(const RopeTable& table, int32_t position, std::span<float> head) {
  const auto half = static_cast<size_t>(table.half_dim);
  const float* cos = table.cos.data() + static_cast<size_t>(position) * half;
  const float* sin = table.sin.data() + static_cast<size_t>(position) * half;
  for (size_t i = 0; i < half; ++i) {
    const float low = head[i];
    const float high = head[i + half];
    head[i] = Planted(PlantedFault::kRopeFused) ? fma_rn(-high, sin[i], mul_rn(low, cos[i]))
                                                : sub_rn(mul_rn(low, cos[i]), mul_rn(high, sin[i]));
    head[i + half] = add_rn(mul_rn(high, cos[i]), mul_rn(low, sin[i]));
  }
}

}  // namespace reenact::local_engine
