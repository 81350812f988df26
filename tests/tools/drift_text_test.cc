#include "tools/reenact/monitor/drift_text.h"

#include <vector>

#include "gtest/gtest.h"

namespace reenact::tools {
namespace {

TEST(DriftChart, WhatStandsOutOfTheBaselineIsSeenAboveTheGate) {
  EXPECT_EQ(DriftChart({0.01, 0.02, 0, 0.012, 0.02, 0.02, 0.02, 0.02}, {0.3, 0.05}, 0.06),
            "       0.3 ┤        │█ \n"
            "      0.25 ┤        │█ \n"
            "       0.2 ┤        │█ \n"
            "      0.15 ┤        │█ \n"
            "       0.1 ┤┄┄┄┄┄┄┄┄│█┄\n"
            "      0.05 ┤▂▄ ▂▄▄▄▄│██\n"
            "      nats  baseline│check\n");
}

TEST(DriftChart, TheLeastShiftOfABaselineThatNeverMovesIsSeen) {
  EXPECT_EQ(DriftChart({0, 0}, {0, 0.006}, 0),
            "     0.006 ┤  │ █\n"
            "     0.005 ┤  │ █\n"
            "     0.004 ┤  │ █\n"
            "     0.003 ┤  │ █\n"
            "     0.002 ┤  │ █\n"
            "     0.001 ┤  │ █\n"
            "      nats    │check\n");
  EXPECT_EQ(DriftChart({0}, {0}, 0), "");
}

TEST(DriftChart, ManyWindowsShareAColumnThatShowsTheLargest) {
  std::vector<double> null(120, 0);
  null[7] = 0.06;
  const std::string chart = DriftChart(null, {0}, 0);
  EXPECT_EQ(chart.substr(0, chart.find('\n')), "      0.06 ┤  █" + std::string(37, ' ') + "│ ");
}

}  // namespace
}  // namespace reenact::tools
