#include "local_engine/reference/sampler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "local_engine/numerics/exp_log.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/numerics/philox.h"
#include "local_engine/reference/planted_fault.h"

namespace reenact::local_engine {
namespace {

constexpr float kCut = -std::numeric_limits<float>::infinity();

float Largest(std::span<const float> logits) {
  float largest = kCut;
  for (float logit : logits) largest = max_select(logit, largest);
  return largest;
}

// Token ids from the largest logit down, equal ones by id.
std::vector<int32_t> ByRank(std::span<const float> logits) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  return ids;
}

void CutFrom(size_t rank, const std::vector<int32_t>& ids, std::span<float> logits) {
  for (size_t i = rank; i < ids.size(); ++i) logits[ids[i]] = kCut;
}

// value * 2^31 to nearest even, value in [0, 1].
uint64_t FixedPoint(float value) {
  const float scaled = mul_rn(value, 0x1p+31f);
  // From 2^24 on a binary32 is an integer already; below, 2^22 is where the rounding ends.
  if (scaled >= 0x1p+22f) {
    const auto whole = static_cast<uint64_t>(scaled);
    const float rest = sub_rn(scaled, static_cast<float>(whole));
    return whole + (rest > 0.5f || (rest == 0.5f && (whole & 1)) ? 1 : 0);
  }
  return static_cast<uint64_t>(round_to_int(scaled));
}

size_t NucleusSizeInFloat(std::span<const float> logits, const std::vector<int32_t>& ids,
                          float top_p) {
  const float maximum = logits[ids[0]];
  float total = 0.0f;
  for (float logit : logits) total = add_rn(total, Exp(sub_rn(logit, maximum)));
  float held = 0.0f;
  size_t count = 0;
  while (count < ids.size() && held < mul_rn(total, top_p)) {
    held = add_rn(held, Exp(sub_rn(logits[ids[count++]], maximum)));
  }
  return count;
}

size_t NucleusSize(std::span<const float> logits, const std::vector<int32_t>& ids, float top_p) {
  if (Planted(PlantedFault::kTopPInFloat)) return NucleusSizeInFloat(logits, ids, top_p);
  const float maximum = logits[ids[0]];
  uint64_t total = 0;
  for (float logit : logits) total += FixedPoint(Exp(sub_rn(logit, maximum)));
  // held / total >= top_p, both sides times 2^31 total: below 2^31 * 2^50, hence 128 bits.
  const auto wanted = static_cast<unsigned __int128>(total) * FixedPoint(top_p);
  uint64_t held = 0;
  size_t count = 0;
  while (count < ids.size() && (static_cast<unsigned __int128>(held) << 31) < wanted) {
    held += FixedPoint(Exp(sub_rn(logits[ids[count++]], maximum)));
  }
  return std::max<size_t>(count, 1);
}

}  // namespace

void AddBias(std::span<float> logits, std::span<const TokenBias> biases) {
  for (const TokenBias& entry : biases) {
    logits[entry.token_id] = add_rn(logits[entry.token_id], entry.bias);
  }
}

void Penalise(std::span<float> logits, std::span<const TokenCount> counts,
              const SamplingSettings& settings) {
  for (const TokenCount& entry : counts) {
    float& logit = logits[entry.token_id];
    if (settings.repetition_penalty != 1.0f) {
      logit = logit > 0.0f ? div_rn(logit, settings.repetition_penalty)
                           : mul_rn(logit, settings.repetition_penalty);
    }
    if (entry.in_output > 0) {
      const auto count = static_cast<float>(entry.in_output);
      logit = sub_rn(sub_rn(logit, mul_rn(settings.frequency_penalty, count)),
                     settings.presence_penalty);
    }
  }
}

void Temper(std::span<float> logits, float temperature) {
  for (float& logit : logits) logit = div_rn(logit, temperature);
}

void KeepTopK(std::span<float> logits, int32_t k) {
  CutFrom(static_cast<size_t>(k), ByRank(logits), logits);
}

void KeepTopP(std::span<float> logits, float top_p) {
  const std::vector<int32_t> ids = ByRank(logits);
  CutFrom(NucleusSize(logits, ids, top_p), ids, logits);
}

void KeepMinP(std::span<float> logits, float min_p) {
  const float maximum = Largest(logits);
  for (float& logit : logits) {
    if (Exp(sub_rn(logit, maximum)) < min_p) logit = kCut;
  }
}

int32_t ArgMax(std::span<const float> logits) {
  int32_t best = 0;
  for (int32_t id = 1; id < static_cast<int32_t>(logits.size()); ++id) {
    const bool better = Planted(PlantedFault::kTieToHighestId) ? logits[id] >= logits[best]
                                                               : logits[id] > logits[best];
    if (better) best = id;
  }
  return best;
}

int32_t Draw(std::span<const float> logits, const DrawKey& key) {
  int32_t best = -1;
  int32_t rank = 0;
  float best_score = kCut;
  for (int32_t id = 0; id < static_cast<int32_t>(logits.size()); ++id) {
    if (logits[id] == kCut) continue;
    const int32_t owner = Planted(PlantedFault::kNoiseByRank) ? rank++ : id;
    const float uniform = UniformFromBits(DrawBits(key, static_cast<uint32_t>(owner)));
    const float score = add_rn(logits[id], -Log(-Log(uniform)));
    if (best < 0 || score > best_score) {
      best = id;
      best_score = score;
    }
  }
  return best;
}

int32_t Sample(std::span<float> logits, const SamplerInput& input) {
  const SamplingSettings& settings = input.settings;
  AddBias(logits, input.biases);
  Penalise(logits, input.counts, settings);
  if (settings.temperature == 0.0f || settings.top_k == 1) return ArgMax(logits);
  Temper(logits, settings.temperature);
  if (settings.top_k > 0) KeepTopK(logits, settings.top_k);
  if (settings.top_p < 1.0f) KeepTopP(logits, settings.top_p);
  if (settings.min_p > 0.0f) KeepMinP(logits, settings.min_p);
  return Draw(logits, input.key);
}

}  // namespace reenact::local_engine
