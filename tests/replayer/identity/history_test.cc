// What a thing was at a time, from when its values were seen.

#include "replayer/identity/history.h"

#include "gtest/gtest.h"

namespace reenact::identity {
namespace {

constexpr int64_t kMinuteNs = 60'000'000'000;

schema::Ulid Id(int64_t minute) {
  return schema::MakeUlid(minute, {});
}

// Seen from minute `first` to minute `last` of one hour.
Observation SeenBetween(std::string value, int64_t first, int64_t last, int64_t count = 2) {
  return {.value = std::move(value),
          .hour = first / 60,
          .count = count,
          .first = {first * kMinuteNs, Id(first), 1},
          .last = {last * kMinuteNs, Id(last), 2}};
}

std::string InUse(const History& history, int64_t minute) {
  std::string out;
  for (const ValueInUse& used : history.At(minute * kMinuteNs).in_use)
    out += (out.empty() ? "" : "+") + used.period.value;
  return out;
}

TEST(History, AValueHoldsUntilAnotherIsSeen) {
  const History history({SeenBetween("v14", 1, 29), SeenBetween("v15", 33, 59)});
  EXPECT_EQ(InUse(history, 0), "");
  EXPECT_EQ(InUse(history, 1), "v14");
  EXPECT_EQ(InUse(history, 32), "v14");
  EXPECT_EQ(InUse(history, 33), "v15");
  EXPECT_EQ(InUse(history, 10'000), "v15");
}

TEST(History, ItIsToldWhatWasBeforeAndAfterAndFromWhichRun) {
  const History history({SeenBetween("v14", 1, 29), SeenBetween("v15", 33, 59)});
  const ValuesAt values = history.At(32 * kMinuteNs);
  EXPECT_FALSE(values.before.has_value());
  ASSERT_TRUE(values.after.has_value());
  EXPECT_EQ(values.after->value, "v15");
  EXPECT_EQ(values.after->first.at_wall_ns, 33 * kMinuteNs);
  EXPECT_EQ(values.in_use.at(0).known_from.run, Id(29));
  const ValuesAt later = history.At(40 * kMinuteNs);
  EXPECT_EQ(later.before->value, "v14");
  EXPECT_EQ(later.in_use.at(0).known_from.run, Id(33));
}

TEST(History, ARollbackIsAPeriodOfItsOwn) {
  const History history(
      {SeenBetween("v14", 1, 50), SeenBetween("v15", 130, 170), SeenBetween("v14", 250, 290)});
  ASSERT_EQ(history.periods().size(), 3U);
  EXPECT_EQ(InUse(history, 100), "v14");
  EXPECT_EQ(InUse(history, 200), "v15");
  const ValuesAt values = history.At(260 * kMinuteNs);
  EXPECT_EQ(values.in_use.at(0).period.first.at_wall_ns, 250 * kMinuteNs);
  EXPECT_EQ(values.before->value, "v15");
}

TEST(History, QuietHoursDoNotEndAPeriod) {
  const History history({SeenBetween("v14", 1, 50), SeenBetween("v14", 600, 650)});
  ASSERT_EQ(history.periods().size(), 1U);
  EXPECT_EQ(history.periods()[0].count, 4);
}

TEST(History, ValuesThatTakeTurnsAreInUseAtOnce) {
  const History history({SeenBetween("a", 1, 58), SeenBetween("b", 2, 59),
                         SeenBetween("a", 61, 118), SeenBetween("b", 62, 119)});
  EXPECT_EQ(history.periods().size(), 2U);
  EXPECT_EQ(InUse(history, 60), "a+b");
  EXPECT_EQ(InUse(history, 1), "a");
}

TEST(History, TheOrderInWhichItIsToldDoesNotMatter) {
  const History history({SeenBetween("v15", 33, 59), SeenBetween("v14", 1, 29)});
  EXPECT_EQ(InUse(history, 20), "v14");
}

TEST(History, ASnapshotIsEvidenceUntilARunUsesIt) {
  Observation snapshot = SeenBetween("v15", 31, 31, 1);
  snapshot.snapshot = true;
  const History history({SeenBetween("v14", 1, 29), snapshot, SeenBetween("v15", 40, 59)});
  EXPECT_TRUE(history.At(35 * kMinuteNs).in_use.at(0).from_snapshot);
  EXPECT_FALSE(history.At(59 * kMinuteNs).in_use.at(0).from_snapshot);
}

}  // namespace
}  // namespace reenact::identity
