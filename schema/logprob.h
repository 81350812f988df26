// Token evidence: the tokens of an answer with their log probabilities, and near-ties among them.

#ifndef REENACT_SCHEMA_LOGPROB_H_
#define REENACT_SCHEMA_LOGPROB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reenact::schema {

// Values that mean "outside the top list" rather than a probability: <= -9999 (OpenAI, vLLM) and
// the smallest float (llama.cpp). Never averaged.
inline constexpr double kCensoredLogprob = -9999.0;
// Rounding may lift the logprob of a certain token a little above 0. What lies above this is no
// logprob: "impossible_logprob", excluded from statistics.
inline constexpr double kLargestLogprob = 1e-6;

struct TokenAlternative {
  std::string token;                 // Display text; two tokens may share it.
  std::optional<std::string> bytes;  // What it stands for; absent where the provider sent null.
  std::optional<int64_t> id;         // Where offered.
  double logprob = 0;                // Nats.
  bool censored = false;
};

struct TokenLogprob {
  TokenAlternative chosen;
  std::vector<TokenAlternative> top;  // As sent: order and equal texts kept.
};

struct LogprobSeries {
  std::vector<TokenLogprob> tokens;
  // "impossible_logprob" (above 1e-6), "bytes_unreliable" (a character's parts all sent as U+FFFD),
  // "misaligned:ids=5,logprobs=6". A series with "misaligned" is excluded from statistics.
  // "logprobs_absent:token=3": the server sent text without logprobs there; the token keeps its
  // place, censored and without alternatives. "logprobs_absent": asked for, and none at all came.
  std::vector<std::string> anomalies;
};

// The default margin in nats below which a token counts as a near-tie.
inline constexpr double kNearTieNats = 0.1;

struct NearTie {
  int64_t token_index = 0;  // From 0.
  double margin_nats = 0;   // Best minus second best of the known alternatives; 0 is an exact tie.
  TokenAlternative chosen;
  TokenAlternative runner_up;  // The best alternative that was not chosen.
  bool chosen_is_best = true;  // False: a lower-ranked token was taken (sampling).
};

// Tokens whose margin to the best alternative is known and below `threshold_nats`. Tokens without
// alternatives are unknown, not certain, and are counted in `*unknown_count` (may be null), as are
// those with an impossible logprob and all of a misaligned series.
std::vector<NearTie> FindNearTies(const LogprobSeries& series, double threshold_nats,
                                  int64_t* unknown_count);

// How likely noise turns a margin over, for a Gaussian margin whose standard deviation over repeats
// is `margin_deviation` nats. An exact tie is a coin toss even without noise.
double FlipProbability(double margin_nats, double margin_deviation);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_LOGPROB_H_
