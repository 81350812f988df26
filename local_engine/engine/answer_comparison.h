// Whether two answers are the same bits.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_ANSWER_COMPARISON_H_
#define REENACT_LOCAL_ENGINE_ENGINE_ANSWER_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "local_engine/engine.h"

namespace reenact::local_engine {

struct BitComparison {
  int64_t comparisons = 0;  // Of 32 bits each.
  int64_t differences = 0;
  std::string first_difference;
};

// Tokens and log-probabilities, the bits of each, and how many there are.
BitComparison CompareScores(const std::vector<TokenScore>& expected,
                            const std::vector<TokenScore>& actual);

BitComparison CompareDigests(const Sha256Digest& expected, const Sha256Digest& actual);

// Tokens, log-probabilities, ends, texts and digests of every sample. What depends on the company
// (co-residents, preemptions, cached positions) is no part of an answer's bits.
BitComparison CompareAnswers(const Answer& expected, const Answer& actual);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_ANSWER_COMPARISON_H_
