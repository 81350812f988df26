#include "local_engine/engine/token_score.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "local_engine/reference/logprob.h"

namespace reenact::local_engine {

TokenScore ScoreOf(std::span<const float> logits, int32_t token, int32_t top_count) {
  const LogNormaliser normaliser = Normalise(logits);
  TokenScore score;
  score.chosen = {token, Logprob(logits[token], normaliser)};
  if (top_count == 0) return score;
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + std::min(static_cast<ptrdiff_t>(top_count), std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(), [&](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  for (auto id = ids.begin(); id != end; ++id) {
    score.top.push_back({*id, Logprob(logits[*id], normaliser)});
  }
  return score;
}

}  // namespace reenact::local_engine
