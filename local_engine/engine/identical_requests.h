// One request asked many times while the load comes and goes: how many different answers come back.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_IDENTICAL_REQUESTS_H_
#define REENACT_LOCAL_ENGINE_ENGINE_IDENTICAL_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/engine.h"
#include "local_engine/engine/answer_comparison.h"

namespace reenact::local_engine {

struct IdenticalRequests {
  Request request;  // Greedy, or with a seed; with logprobs.
  int32_t count = 1000;
  // Other requests, in turns: every fourth one is of these, so that neighbours differ in length and
  // content. At least one.
  std::vector<Request> others;
};

// The answers to the request. In flight are 1, 4, 32, 2, 16, 1, 8, 32, 3 requests in turns, the
// others counted; the number changes after every 24 answers. Errors: those of the engine.
absl::StatusOr<std::vector<Answer>> AnswerUnderLoad(const IdenticalRequests& identical,
                                                    Engine* engine);

struct AnswerVariants {
  size_t texts = 0;          // Different series of tokens.
  size_t largest_group = 0;  // Answers with the most frequent one.
  size_t logprob_patterns = 0;
  // The earliest token in which an answer differs from the first one; -1: in none.
  int32_t first_divergence = -1;
};

AnswerVariants VariantsOf(std::span<const Answer> answers);

// Profile "stock": each answer again by its recorded schedule, in each other's company, against
// what was recorded. Errors: those of the engine.
absl::StatusOr<BitComparison> ReplaySchedules(const Request& request,
                                              std::span<const Answer> answers, Engine* engine);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_IDENTICAL_REQUESTS_H_
