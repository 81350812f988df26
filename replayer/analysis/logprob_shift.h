// Has the distribution of a first token moved? The LT statistic over two groups of probes, with its
// permutation test. Samples of one minute share load and host: the p-value here holds only for
// exchangeable samples, and a monitor judges the statistic against a noise floor (noise_floor.h).

#ifndef REENACT_REPLAYER_ANALYSIS_LOGPROB_SHIFT_H_
#define REENACT_REPLAYER_ANALYSIS_LOGPROB_SHIFT_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "replayer/analysis/measure.h"
#include "replayer/analysis/paired.h"
#include "replayer/analysis/random.h"

namespace reenact::analysis {

// One top-k list: token bytes -> log probability in nats. Bytes, not text: two tokens may read
// alike.
using TopTokens = std::map<std::string, double>;

// From here down a logprob says "outside the top list" and no more (OpenAI, vLLM).
inline constexpr double kCensoredFrom = -9999;
// From here down it is not a logprob but a smallest float: the whole sample is invalid.
inline constexpr double kInvalidFrom = -1e30;
// Genuine values end here: lower ones are raised to it.
inline constexpr double kLowestLogprob = -40;

// The floor that stands for a token that a sample does not list.
enum class Censoring {
  kSeriesMin,  // The lowest value of all samples: the default.
  kSampleMin,  // Of the sample itself: a day with shorter lists then looks as if it had drifted.
  kFixed,      // kLowestLogprob: the statistic becomes a count of presence and absence.
};

struct ShiftOptions {
  Censoring censoring = Censoring::kSeriesMin;
  int64_t exact_up_to = 200000;  // Relabellings; 10 against 10 are 184,756.
  int64_t draws = kDefaultDraws;
  uint64_t seed = kDefaultSeed;
};

struct LogprobShift {
  std::vector<std::string> tokens;  // All that were seen, by bytes.
  Measure statistic;  // Nats: mean over tokens of |mean of group 1 - mean of group 2|.
  Measure p;          // Of the permutation test, this labelling included.
  Measure smallest_p;
  Measure relabellings;    // All there are; more than fit into an integer.
  int64_t draw_count = 0;  // All relabellings, or B.
  int64_t as_extreme = 0;
  bool exact = false;
  int64_t invalid_samples = 0;  // Left out: smallest floats, values above 0, empty lists.
};

// Bits: independent of the order of the samples in a group.
LogprobShift TestShift(std::span<const TopTokens> first, std::span<const TopTokens> second,
                       const ShiftOptions& options = {});

// Number of relabellings of n1 + n2 samples, and the smallest p of a statistic that does not care
// which group is which.
struct Resolution {
  Measure relabellings;
  Measure smallest_p;
};

Resolution PermutationResolution(int64_t n1, int64_t n2);

// p of b draws as extreme out of B: (b + 1) / (B + 1), never 0 (Phipson and Smyth 2010).
Measure DrawnP(int64_t as_extreme, int64_t draws);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_LOGPROB_SHIFT_H_
