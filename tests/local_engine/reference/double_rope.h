// Rotary frequencies in binary64 with the library's pow and log, from the formulas alone: Su et
// al., 2021; the llama3 rule of the Llama 3.1 release; YaRN, Peng et al., 2023.

#ifndef REENACT_TESTS_LOCAL_ENGINE_REFERENCE_DOUBLE_ROPE_H_
#define REENACT_TESTS_LOCAL_ENGINE_REFERENCE_DOUBLE_ROPE_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "local_engine/model/rope_config.h"

namespace reenact::local_engine {

// Where a pair of dimensions lies between the kept ones (0) and the stretched ones (1).
inline double StretchOf(const RopeConfig& config, int pair, double frequency) {
  const double turns = config.original_context * frequency / (2 * M_PI);
  if (config.scaling == RopeScaling::kLlama3) {
    return std::clamp((config.high_frequency_factor - turns) /
                          (config.high_frequency_factor - config.low_frequency_factor),
                      0.0, 1.0);
  }
  const auto pair_that_turns = [&](double times) {
    return config.head_dim * std::log(config.original_context / (times * 2 * M_PI)) /
           (2 * std::log(config.theta));
  };
  const double first = std::max(std::floor(pair_that_turns(config.beta_fast)), 0.0);
  const double last = std::min(std::ceil(pair_that_turns(config.beta_slow)), config.head_dim - 1.0);
  return std::clamp((pair - first) / std::max(last - first, 0.001), 0.0, 1.0);
}

// Rounded to binary32, as the profile has it.
inline std::vector<float> DoubleFrequencies(const RopeConfig& config) {
  std::vector<float> frequencies;
  for (int pair = 0; pair < config.head_dim / 2; ++pair) {
    double frequency = std::pow(config.theta, -2.0 * pair / config.head_dim);
    if (config.scaling != RopeScaling::kNone) {
      const double stretch = StretchOf(config, pair, frequency);
      frequency = frequency * (1 - stretch) + frequency / config.factor * stretch;
    }
    if (!config.frequency_divisors.empty()) frequency /= config.frequency_divisors[pair];
    frequencies.push_back(static_cast<float>(frequency));
  }
  return frequencies;
}

// What sine and cosine are multiplied by.
inline double DoubleAttentionFactor(const RopeConfig& config) {
  if (config.scaling != RopeScaling::kYarn) return 1;
  return config.attention_factor != 0 ? config.attention_factor
                                      : 0.1 * std::log(std::max(config.factor, 1.0)) + 1;
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_REFERENCE_DOUBLE_ROPE_H_
