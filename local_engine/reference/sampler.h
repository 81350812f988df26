// From a row of logits to a token: bias, penalties, temperature, cuts, draw, in that order. Every
// choice is by (value, then lowest token id), and the noise belongs to the token id: neither the
// order of a sort nor the batch can change a draw.

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_SAMPLER_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_SAMPLER_H_

#include <cstdint>
#include <span>

#include "local_engine/numerics/philox.h"

namespace reenact::local_engine {

struct TokenBias {
  int32_t token_id = 0;
  float bias = 0;
};

struct TokenCount {
  int32_t token_id = 0;
  int32_t in_prompt = 0;
  int32_t in_output = 0;
};

struct SamplingSettings {
  float temperature = 1;         // 0: the most probable token, no draw.
  int32_t top_k = 0;             // 0: off. 1: as temperature 0.
  float top_p = 1;               // 1: off.
  float min_p = 0;               // 0: off.
  float repetition_penalty = 1;  // 1: off; over prompt and output.
  float presence_penalty = 0;    // Over the output.
  float frequency_penalty = 0;   // Over the output.
};

// Each function below rewrites a row of logits [vocabulary]; a token that is cut becomes -infinity.

// logit + bias. Each id at most once.
void AddBias(std::span<float> logits, std::span<const TokenBias> biases);

// For each counted id: a positive logit is divided by the repetition penalty, another multiplied;
// then, where it is in the output, (logit - frequency count) - presence.
void Penalise(std::span<float> logits, std::span<const TokenCount> counts,
              const SamplingSettings& settings);

// logit / temperature; temperature > 0.
void Temper(std::span<float> logits, float temperature);

// Keeps the k largest; of equal ones at the edge, the lowest ids. k >= 1.
void KeepTopK(std::span<float> logits, int32_t k);

// Keeps the fewest most probable tokens that hold `top_p` of the mass; of equal ones at the edge,
// the lowest ids; always one at least. A token's mass is Exp(logit - maximum) 2^31 to nearest even,
// as an integer: sums of 64 bits are exact, so the order of summation is free.
void KeepTopP(std::span<float> logits, float top_p);

// Keeps tokens with Exp(logit - maximum) >= min_p.
void KeepMinP(std::span<float> logits, float min_p);

// The largest logit; of equal ones the lowest id.
int32_t ArgMax(std::span<const float> logits);

// Gumbel-max: the largest logit + -Log(-Log(u)) among the tokens that are not cut, u from
// DrawBits(key, token id); of equal ones the lowest id.
int32_t Draw(std::span<const float> logits, const DrawKey& key);

struct SamplerInput {
  std::span<const TokenBias> biases;
  std::span<const TokenCount> counts;
  SamplingSettings settings;
  DrawKey key;
};

// All of the above on one row, which is overwritten. At least one logit is finite.
int32_t Sample(std::span<float> logits, const SamplerInput& input);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_SAMPLER_H_
