// What a model's configuration says about its rotary position embedding.

#ifndef REENACT_LOCAL_ENGINE_MODEL_ROPE_CONFIG_H_
#define REENACT_LOCAL_ENGINE_MODEL_ROPE_CONFIG_H_

#include <cstdint>
#include <vector>

namespace reenact::local_engine {

enum class RopeScaling { kNone, kLlama3, kYarn };

struct RopeConfig {
  double theta = 10000.0;
  int32_t head_dim = 0;  // Every dimension is rotated; even.
  RopeScaling scaling = RopeScaling::kNone;

  // Of kLlama3 and kYarn.
  double factor = 1.0;
  double original_context = 0;  // Positions that the unscaled model was trained on.

  // Of kLlama3.
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;

  // Of kYarn. An attention factor of 0 means the paper's 0.1 ln(factor) + 1.
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  double attention_factor = 0;

  // When not empty (GGUF's rope_freqs.weight): frequency i is divided by entry i; head_dim / 2.
  std::vector<float> frequency_divisors;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_MODEL_ROPE_CONFIG_H_
