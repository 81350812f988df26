// What a matrix of invariances comes to: a difference is a finding, and what was not tried is no
// success.

#include "tools/reenact/engine/engine_check.h"

#include <string>

#include "gtest/gtest.h"

namespace reenact::tools {
namespace {

using local_engine::MatrixRow;

const MatrixRow kHolds = {.comparisons = 10, .path_ran = true};
const MatrixRow kDiffers = {.comparisons = 10, .differences = 1, .path_ran = true};
const MatrixRow kNotProved = {.comparisons = 10, .path_ran = false};
const MatrixRow kNothingCompared = {.comparisons = 0, .path_ran = true};

TEST(InvarianceExitCode, ADifferenceIsAFindingWhateverElseWasNotTried) {
  EXPECT_EQ(InvarianceExitCode({kHolds, kHolds}), kExitOk);
  EXPECT_EQ(InvarianceExitCode({kHolds, kDiffers}), kExitFinding);
  EXPECT_EQ(InvarianceExitCode({kNotProved, kDiffers, kHolds}), kExitFinding);
}

TEST(InvarianceExitCode, WhatWasNotTriedIsInconclusive) {
  EXPECT_EQ(InvarianceExitCode({kHolds, kNotProved}), kExitInconclusive);
  EXPECT_EQ(InvarianceExitCode({kNothingCompared}), kExitInconclusive);
  EXPECT_EQ(InvarianceExitCode({}), kExitInconclusive);
}

TEST(InvarianceVerdict, IsInWords) {
  EXPECT_EQ(InvarianceVerdict(kHolds), std::string("holds"));
  EXPECT_EQ(InvarianceVerdict(kDiffers), std::string("differs"));
  EXPECT_EQ(InvarianceVerdict(kNotProved), std::string("not tried"));
  EXPECT_EQ(InvarianceVerdict(kNothingCompared), std::string("not tried"));
}

}  // namespace
}  // namespace reenact::tools
