// A model's logits beside those of binary64, over a sequence of given tokens.

#ifndef REENACT_TESTS_LOCAL_ENGINE_REFERENCE_FORWARD_CHECKS_H_
#define REENACT_TESTS_LOCAL_ENGINE_REFERENCE_FORWARD_CHECKS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/model/load_model.h"
#include "local_engine/reference/forward.h"
#include "tests/local_engine/reference/double_forward.h"
#include "tests/local_engine/reference/golden_models.h"

namespace reenact::local_engine {

// The largest difference of a logit of `tested` from binary64 on `exact`, which may be the same
// model read from another file; -1 when a step failed.
inline double WorstDifference(const Model& tested, const Model& exact,
                              std::span<const int32_t> tokens) {
  const ReferenceModel reference(tested, static_cast<int32_t>(tokens.size()));
  DoubleForward in_double(exact);
  ReferenceCache cache;
  double worst = 0;
  for (const int32_t token : tokens) {
    const absl::StatusOr<std::vector<float>> logits = reference.Forward(token, &cache);
    EXPECT_TRUE(logits.ok()) << logits.status();
    if (!logits.ok()) return -1;
    const std::vector<double> expected = in_double.Step(token);
    for (size_t id = 0; id < expected.size(); ++id) {
      worst = std::fmax(worst, std::fabs((*logits)[id] - expected[id]));
    }
  }
  return worst;
}

// Over the first tokens of golden_models.h.
inline double WorstDifference(const Model& tested, const Model& exact, int32_t length) {
  std::vector<int32_t> tokens;
  for (int32_t position = 0; position < length; ++position) {
    tokens.push_back(GoldenTokenAt(position));
  }
  return WorstDifference(tested, exact, tokens);
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_REFERENCE_FORWARD_CHECKS_H_
