// Maximum mean discrepancy of two sets of answers under a Hamming kernel (Gao et al. 2024, model
// equality testing), compared prompt by prompt.

#ifndef REENACT_REPLAYER_ANALYSIS_TEXT_DISTANCE_H_
#define REENACT_REPLAYER_ANALYSIS_TEXT_DISTANCE_H_

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "replayer/analysis/measure.h"
#include "replayer/analysis/paired.h"
#include "replayer/analysis/random.h"

namespace reenact::analysis {

struct TextSample {
  int64_t prompt = 0;
  // Code points or token ids. Compared up to the length below; what is missing counts as a symbol
  // of its own, equal to itself, so that a long length inflates the likeness.
  std::vector<int32_t> symbols;

  auto operator<=>(const TextSample&) const = default;
};

struct TextOptions {
  int64_t length = 0;  // Symbols compared; 0: the longest sample. Report it.
  // Labels change places within a prompt only. Across prompts the test answers another question,
  // and a relabelling may leave no pair to compare; offered to explain figures made that way.
  bool within_prompt = true;
  int64_t exact_up_to = 200000;
  int64_t draws = kDefaultDraws;
  uint64_t seed = kDefaultSeed;
};

struct TextDistance {
  int64_t length = 0;
  Measure
      mmd2;  // Unbiased, so it may be below 0. kInsufficientN: no prompt has 2 answers on a side.
  Measure p;
  bool exact = false;
  int64_t draw_count = 0;
  int64_t as_extreme = 0;
  int64_t undefined = 0;  // Relabellings without a pair to compare.
};

TextDistance CompareTexts(std::span<const TextSample> x, std::span<const TextSample> y,
                          const TextOptions& options = {});

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_TEXT_DISTANCE_H_
