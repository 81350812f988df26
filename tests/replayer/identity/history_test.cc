// What a thing was at a time, from when its values were seen.

#include "replayer/identity/history.h"

#include "gtest/gtest.h"

namespace reenact::identity {
namespace {

constexpr int64_t kMinute = 60'000'000'000;

schema::Ulid Id(int64_t minute) {
  return schema::MakeUlid(minute, {});
}

// Seen from minute `first` to minute `last` of one hour.
Observation Seen(std::string value, int64_t first, int64_t last, int64_t count = 2) {
  return {.value = std::move(value),
          .hour = first / 60,
          .count = count,
          .first = {first * kMinute, Id(first), 1},
          .last = {last * kMinute, Id(last), 2}};
}

std::string InUse(const History& history, int64_t minute) {
  std::string out;
  for (const ValueInUse& used : history.At(minute * kMinute).in_use)
    out += (out.empty() ? "" : "+") + used.period.value;
  return out;
}

TEST(History, AValueHoldsUntilAnotherIsSeen) {
  const History history({Seen("v14", 1, 29), Seen("v15", 33, 59)});
  EXPECT_EQ(InUse(history, 0), "");
  EXPECT_EQ(InUse(history, 1), "v14");
  EXPECT_EQ(InUse(history, 32), "v14");
  EXPECT_EQ(InUse(history, 33), "v15");
  EXPECT_EQ(InUse(history, 10'000), "v15");
}

TEST(History, ItIsToldWhatWasBeforeAndAfterAndFromWhichRun) {
  const History history({Seen("v14", 1, 29), Seen("v15", 33, 59)});
  const ValuesAt values = history.At(32 * kMinute);
  EXPECT_FALSE(values.before.has_value());
  ASSERT_TRUE(values.after.has_value());
  EXPECT_EQ(values.after->value, "v15");
  EXPECT_EQ(values.after->first.at_wall_ns, 33 * kMinute);
  EXPECT_EQ(values.in_use.at(0).known_from.run, Id(29));
  const ValuesAt later = history.At(40 * kMinute);
  EXPECT_EQ(later.before->value, "v14");
  EXPECT_EQ(later.in_use.at(0).known_from.run, Id(33));
}

TEST(History, ARollbackIsAPeriodOfItsOwn) {
  const History history({Seen("v14", 1, 50), Seen("v15", 130, 170), Seen("v14", 250, 290)});
  ASSERT_EQ(history.periods().size(), 3U);
  EXPECT_EQ(InUse(history, 100), "v14");
  EXPECT_EQ(InUse(history, 200), "v15");
  const ValuesAt values = history.At(260 * kMinute);
  EXPECT_EQ(values.in_use.at(0).period.first.at_wall_ns, 250 * kMinute);
  EXPECT_EQ(values.before->value, "v15");
}

TEST(History, QuietHoursDoNotEndAPeriod) {
  const History history({Seen("v14", 1, 50), Seen("v14", 600, 650)});
  ASSERT_EQ(history.periods().size(), 1U);
  EXPECT_EQ(history.periods()[0].count, 4);
}

TEST(History, ValuesThatTakeTurnsAreInUseAtOnce) {
  const History history(
      {Seen("a", 1, 58), Seen("b", 2, 59), Seen("a", 61, 118), Seen("b", 62, 119)});
  EXPECT_EQ(history.periods().size(), 2U);
  EXPECT_EQ(InUse(history, 60), "a+b");
  EXPECT_EQ(InUse(history, 1), "a");
}

TEST(History, TheOrderInWhichItIsToldDoesNotMatter) {
  const History history({Seen("v15", 33, 59), Seen("v14", 1, 29)});
  EXPECT_EQ(InUse(history, 20), "v14");
}

TEST(History, ASnapshotIsEvidenceUntilARunUsesIt) {
  Observation snapshot = Seen("v15", 31, 31, 1);
  snapshot.snapshot = true;
  const History history({Seen("v14", 1, 29), snapshot, Seen("v15", 40, 59)});
  EXPECT_TRUE(history.At(35 * kMinute).in_use.at(0).from_snapshot);
  EXPECT_FALSE(history.At(59 * kMinute).in_use.at(0).from_snapshot);
}

}  // namespace
}  // namespace reenact::identity
