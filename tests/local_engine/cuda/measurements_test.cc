// How measurements of a device become a table, a JSON document and an end in time.

#include "tools/bench/cuda/measurements.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace reenact::bench {
namespace {

const Measurement kGemv = {.what = "GEMV BF16", .unit = "GB/s", .beside = "copy"};

TEST(Measurements, ShowTheShareOfWhatStandsBeside) {
  Measurements measurements(false, 100, [] { return 0.0; });
  measurements.BeginSection("memory", 10);
  measurements.Measure({.what = "copy", .unit = "GB/s"}, [] { return Measured{4000, 0}; });
  measurements.Measure(kGemv, [] { return Measured{3500, 4000}; });
  measurements.Measure(kGemv, [] { return Measured{3500, 0}; });
  const std::string table = TableOf({"NVIDIA H200", {"operations: equal"}}, measurements.all());
  EXPECT_NE(table.find("NVIDIA H200\nchecks\n  operations: equal\nmemory\n  copy "),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("3500.0 GB/s     copy 4000.0 (88 %)\n"), std::string::npos) << table;
  EXPECT_NE(table.find("3500.0 GB/s     copy: not measured\n"), std::string::npos) << table;
  EXPECT_FALSE(measurements.any_failed());
}

TEST(Measurements, LeaveOutWhatASectionHasNoTimeFor) {
  double now = 0;
  Measurements measurements(false, 100, [&now] { return now; });
  measurements.BeginSection("slow", 10);
  const auto take_eight_seconds = [&now] {
    now += 8;
    return std::optional<Measured>(Measured{1, 0});
  };
  for (int i = 0; i < 3; ++i) measurements.Measure(kGemv, take_eight_seconds);
  EXPECT_EQ(now, 16);
  EXPECT_FALSE(measurements.HasTime());
  EXPECT_TRUE(measurements.all()[1].measured.has_value());
  EXPECT_EQ(measurements.all()[2].why_not, "no time was left");
  measurements.BeginSection("next", 10);
  EXPECT_TRUE(measurements.HasTime());
  now = 95;
  measurements.BeginSection("last", 10);
  EXPECT_TRUE(measurements.HasTime());
  now = 100;
  EXPECT_FALSE(measurements.HasTime()) << "beyond the end of all";
  EXPECT_FALSE(measurements.any_failed());
}

TEST(Measurements, ADryRunMeasuresNothing) {
  Measurements measurements(true, 100, [] { return 0.0; });
  measurements.BeginSection("memory", 10);
  measurements.Measure(kGemv, []() -> std::optional<Measured> {
    ADD_FAILURE() << "it was measured";
    return std::nullopt;
  });
  EXPECT_EQ(measurements.all()[0].why_not, "dry run");
  EXPECT_EQ(measurements.all()[0].section, "memory");
}

TEST(Measurements, AFailureIsSaidAndKept) {
  Measurements measurements(false, 100, [] { return 0.0; });
  measurements.BeginSection("memory", 10);
  measurements.Measure(kGemv, []() -> std::optional<Measured> { return std::nullopt; });
  EXPECT_TRUE(measurements.any_failed());
  EXPECT_NE(TableOf({"x", {}}, measurements.all()).find("- GB/s     failed\n"), std::string::npos);
}

TEST(Measurements, JsonHasWhatWasAndWhatWasNotMeasured) {
  Measurements measurements(false, 100, [] { return 0.0; });
  measurements.BeginSection("memory", 10);
  measurements.Measure(kGemv, [] { return Measured{3500, 4000}; });
  measurements.Measure(kGemv, []() -> std::optional<Measured> { return std::nullopt; });
  EXPECT_EQ(JsonOf({"a \"card\"", {"models: equal"}}, measurements.all()),
            "{\"device\": \"a \\\"card\\\"\", \"checks\": [\"models: equal\"], "
            "\"measurements\": [\n"
            "  {\"section\": \"memory\", \"what\": \"GEMV BF16\", \"unit\": \"GB/s\", "
            "\"value\": 3500.000000, \"beside\": \"copy\", \"other\": 4000.000000},\n"
            "  {\"section\": \"memory\", \"what\": \"GEMV BF16\", \"unit\": \"GB/s\", "
            "\"not_measured\": \"failed\"}\n]}\n");
}

}  // namespace
}  // namespace reenact::bench
