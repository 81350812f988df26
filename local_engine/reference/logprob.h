// Log-probabilities over the vocabulary: one function for sampling, scoring and training.

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_LOGPROB_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_LOGPROB_H_

#include <cstdint>
#include <span>

namespace reenact::local_engine {

inline constexpr int32_t kVocabularyChunk = 4096;

// sum of Exp(logit - maximum). Chunks of 4096 tokens: in a chunk 256 classes, class i mod 256 of
// the index in the chunk, each a chain of additions from +0 in increasing index, then the halving
// tree 128 ... 1 over the classes that own a token; chunk sums are added in index order from +0. A
// logit of -infinity adds +0.
float SumOfExp(std::span<const float> logits, float maximum);

// What turns a row of logits into log-probabilities.
struct LogNormaliser {
  float maximum = 0;
  float log_sum = 0;  // maximum + Log(SumOfExp)
};

// At least one logit is finite, none is NaN or +infinity.
LogNormaliser Normalise(std::span<const float> logits);

// logit - (maximum + log sum).
float Logprob(float logit, const LogNormaliser& normaliser);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_LOGPROB_H_
