#include "tools/reenact/io/time_text.h"

#include <gtest/gtest.h>

#include <string>

namespace reenact::tools {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'772'331'000 * kSecond;  // 2026-03-01T02:10:00Z

absl::TimeZone Zone(const char* name) {
  absl::TimeZone zone;
  EXPECT_TRUE(absl::LoadTimeZone(name, &zone)) << name;
  return zone;
}

int64_t Read(const std::string& text, const char* zone = "UTC") {
  const auto point = ParseTimePoint(text, kNow, Zone(zone));
  EXPECT_TRUE(point.ok()) << text << ": " << point.status();
  return point.ok() ? point->wall_ns : 0;
}

std::string Refusal(const std::string& text, const char* zone = "Europe/Berlin") {
  const auto point = ParseTimePoint(text, kNow, Zone(zone));
  EXPECT_FALSE(point.ok()) << text;
  return point.ok() ? "" : std::string(point.status().message());
}

TEST(FormatTime, IsRfc3339InUtc) {
  EXPECT_EQ(FormatSeconds(kNow), "2026-03-01T02:10:00Z");
  EXPECT_EQ(FormatMillis(kNow + 123'456'789), "2026-03-01T02:10:00.123Z");
  EXPECT_EQ(FormatExact(kNow + 1), "2026-03-01T02:10:00.000000001Z");
  EXPECT_EQ(FormatExact(kNow), "2026-03-01T02:10:00Z");
}

TEST(FormatDuration, UsesTheUnitThatIsRead) {
  EXPECT_EQ(FormatDuration(350), "350 ns");
  EXPECT_EQ(FormatDuration(12'300), "12.3 µs");
  EXPECT_EQ(FormatDuration(45'600'000), "45.6 ms");
  EXPECT_EQ(FormatDuration(1'204'000'000), "1.204 s");
  EXPECT_EQ(FormatDuration(123 * kSecond), "2 min 03 s");
  EXPECT_EQ(FormatDuration(12'000 * kSecond), "3 h 20 min");
  EXPECT_EQ(FormatDuration(71 * 3600 * kSecond), "71 h 00 min");
  EXPECT_EQ(FormatDuration(100 * 3600 * kSecond), "4 days");
  EXPECT_EQ(FormatDuration(INT64_MIN).substr(0, 1), "-");
}

TEST(FormatOffset, SaysBeforeAndAfter) {
  EXPECT_EQ(FormatOffset(1'204'000'000), "+1.204 s");
  EXPECT_EQ(FormatOffset(-5'000'000), "-0.005 s");
  EXPECT_EQ(FormatOffset(123'400'000'000), "+2:03.400");
  EXPECT_EQ(FormatOffset(INT64_MIN).substr(0, 1), "-");
}

TEST(ParseTimePoint, ReadsAgesAndInstants) {
  EXPECT_EQ(Read("2h"), kNow - 2 * 3600 * kSecond);
  EXPECT_EQ(Read("3d"), kNow - 3 * 86400 * kSecond);
  EXPECT_EQ(Read("1.5h"), kNow - 5400 * kSecond);
  EXPECT_EQ(Read("2026-03-01T02:10:00Z"), kNow);
  EXPECT_EQ(Read("2026-03-01T03:10:00+01:00"), kNow);
  EXPECT_EQ(Read("2026-03-01 02:10"), kNow);
  EXPECT_EQ(Read("2026-03-01T02:10:00"), kNow);
  EXPECT_EQ(Read("2026-03-01"), kNow - 7800 * kSecond);
  EXPECT_EQ(Read("2026-03-01 03:10 Europe/Berlin"), kNow);
}

// cases/reports.md 88, second row: a time without a zone states the zone that was assumed.
TEST(ParseTimePoint, SaysWhichZoneALocalTimeWasReadIn) {
  const auto local = ParseTimePoint("2026-03-01 03:10", kNow, Zone("Europe/Berlin"));
  ASSERT_TRUE(local.ok());
  EXPECT_EQ(local->wall_ns, kNow);
  EXPECT_NE(local->note.find("Europe/Berlin"), std::string::npos) << local->note;
  EXPECT_NE(local->note.find("2026-03-01T03:10:00+01:00"), std::string::npos) << local->note;
  const auto zoned = ParseTimePoint("2026-03-01 03:10 Europe/Berlin", kNow, Zone("UTC"));
  ASSERT_TRUE(zoned.ok());
  EXPECT_EQ(zoned->note, "");
}

// cases/reports.md 88, first row: both instants are offered.
TEST(ParseTimePoint, OffersBothInstantsOfATimeThatExistsTwice) {
  for (const char* text : {"2025-10-26 02:30", "2025-10-26 02:30 Europe/Berlin"}) {
    const std::string refusal = Refusal(text);
    EXPECT_NE(refusal.find("2025-10-26T02:30:00+02:00"), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("2025-10-26T02:30:00+01:00"), std::string::npos) << refusal;
  }
}

// cases/reports.md 88, third row.
TEST(ParseTimePoint, SaysThatATimeDoesNotExist) {
  const std::string refusal = Refusal("2025-03-30 02:30");
  EXPECT_NE(refusal.find("does not exist in Europe/Berlin"), std::string::npos) << refusal;
}

TEST(ParseTimePoint, RefusesWhatIsNoTimeAndNamesTheForms) {
  for (const char* text : {"", "yesterday", "2h ago", "2026-13-01", "2026-03-01 25:00", "-2h", "2x",
                           "1e9d", "2026-03-01 02:10 Nowhere/City"}) {
    EXPECT_FALSE(Refusal(text).empty()) << text;
  }
  EXPECT_NE(Refusal("yesterday").find("2026-03-01T12:00:00Z"), std::string::npos);
}

TEST(ParseDuration, ReadsUnitsAndRefusesOthers) {
  EXPECT_EQ(*ParseDuration("90d"), 90 * 86400 * kSecond);
  EXPECT_EQ(*ParseDuration("500ms"), 500'000'000);
  EXPECT_FALSE(ParseDuration("90").ok());
  EXPECT_FALSE(ParseDuration("99999999999999d").ok());
  EXPECT_FALSE(ParseDuration("").ok());
}

}  // namespace
}  // namespace reenact::tools
