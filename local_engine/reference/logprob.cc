#include "local_engine/reference/logprob.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "local_engine/numerics/exp_log.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/reference/halving_tree.h"
#include "local_engine/reference/planted_fault.h"

namespace reenact::local_engine {

float SumOfExp(std::span<const float> logits, float maximum) {
  const size_t chunk_size =
      Planted(PlantedFault::kVocabularyUnchunked) ? logits.size() : size_t{kVocabularyChunk};
  float total = 0.0f;
  for (size_t begin = 0; begin < logits.size(); begin += chunk_size) {
    const auto chunk = logits.subspan(begin, std::min(chunk_size, logits.size() - begin));
    float acc[256] = {};
    for (size_t i = 0; i < chunk.size(); ++i) {
      acc[i % 256] = add_rn(acc[i % 256], Exp(sub_rn(chunk[i], maximum)));
    }
    const int live = static_cast<int>(std::min<size_t>(chunk.size(), 256));
    total = add_rn(total, HalvingTree(acc, live));
  }
  return total;
}

LogNormaliser Normalise(std::span<const float> logits) {
  float maximum = -std::numeric_limits<float>::infinity();
  for (float logit : logits) maximum = max_select(logit, maximum);
  return {maximum, add_rn(maximum, Log(SumOfExp(logits, maximum)))};
}

float Logprob(float logit, const LogNormaliser& normaliser) {
  if (Planted(PlantedFault::kLogprobOfProbability)) {
    const float sum = Exp(sub_rn(normaliser.log_sum, normaliser.maximum));
    return Log(max_select(div_rn(Exp(sub_rn(logit, normaliser.maximum)), sum), 0x1p-126f));
  }
  return sub_rn(logit, normaliser.log_sum);
}

}  // namespace reenact::local_engine
