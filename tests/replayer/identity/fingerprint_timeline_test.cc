#include "replayer/identity/fingerprint_timeline.h"

#include <algorithm>

#include "gtest/gtest.h"

#include "replayer/analysis/random.h"

namespace reenact::identity {
namespace {

using schema::Presence;
using store::CallIdentity;
using store::Seen;
using store::Sightings;

constexpr int64_t kHourNs = 3'600'000'000'000;
constexpr int64_t kFirstHour = 24 * 20'000;

CallIdentity Call(std::string fingerprint, Presence presence = Presence::kValue) {
  return {.service = "refunds",
          .provider = "openai",
          .endpoint = "https://api.openai.com/v1",
          .asked_model = "gpt-4o",
          .served_model = "gpt-4o-2024-08-06",
          .fingerprint_presence = presence,
          .fingerprint = std::move(fingerprint),
          .service_tier = "default"};
}

class Month {
 public:
  // In one hour of a day, counted from 0.
  Month& Add(int day, CallIdentity call, int64_t count, int hour = 0) {
    const int64_t at = kFirstHour + day * 24 + hour;
    const auto id = schema::MakeUlid(at, {});
    seen_.calls.push_back({std::move(call),
                           at,
                           count,
                           {at * kHourNs + 1, id, 1},
                           {at * kHourNs + kHourNs - 1, id, 2}});
    return *this;
  }

  EndpointTimeline Timeline(const std::string& service = "") const {
    const auto timelines = TimelinesOf(seen_, service);
    EXPECT_EQ(timelines.size(), 1U);
    return timelines.at(0);
  }

 private:
  Sightings seen_;
};

std::vector<std::string> Kinds(const EndpointTimeline& timeline) {
  std::vector<std::string> kinds;
  for (const Change& change : timeline.changes) {
    kinds.push_back(std::string(ToString(change.kind)) +
                    (change.value.empty() ? "" : " " + change.value));
  }
  return kinds;
}

using Texts = std::vector<std::string>;

TEST(FingerprintTimeline, AnUnseenValueIsNovelAndTellsItsShareSince) {
  Month month;
  for (int day = 0; day < 5; ++day) month.Add(day, Call("fp_a"), 90);
  month.Add(5, Call("fp_a"), 60).Add(5, Call("fp_b"), 30);
  const EndpointTimeline timeline = month.Timeline();
  EXPECT_EQ(Kinds(timeline), Texts{"novel fp_b"});
  EXPECT_NEAR(timeline.changes[0].share.value(), 30.0 / 90, 1e-12);
  EXPECT_EQ(timeline.changes[0].at.at_wall_ns, (kFirstHour + 5 * 24) * kHourNs + 1);
  EXPECT_EQ(timeline.EpochAt(0), 0);
  EXPECT_EQ(timeline.EpochAt((kFirstHour + 6 * 24) * kHourNs), 1);
}

TEST(FingerprintTimeline, ReplicasThatTakeTurnsAreNoChange) {
  // Five values of one pinned model within ten calls were seen in the wild.
  Month month;
  analysis::RandomStream random(1, 0);
  for (int day = 0; day < 30; ++day) {
    int64_t counts[5] = {};
    for (int call = 0; call < 200; ++call) ++counts[random.Below(5)];
    for (int value = 0; value < 5; ++value)
      month.Add(day, Call("fp_" + std::to_string(value)), counts[value]);
  }
  EXPECT_EQ(Kinds(month.Timeline()), Texts{});
}

TEST(FingerprintTimeline, AMixThatShiftsIsAChangeOnce) {
  Month month;
  for (int day = 0; day < 20; ++day) {
    const int64_t second = day < 10 ? 20 : 140;
    month.Add(day, Call("fp_a"), 200 - second).Add(day, Call("fp_b"), second);
  }
  const EndpointTimeline timeline = month.Timeline();
  EXPECT_EQ(Kinds(timeline), Texts{"mix_shift"});
  EXPECT_NEAR(timeline.changes[0].tv.value(), 0.6, 1e-12);
  EXPECT_EQ(timeline.changes[0].at.at_wall_ns, (kFirstHour + 10 * 24) * kHourNs);
}

TEST(FingerprintTimeline, AFewCallsProveNoAbsence) {
  // stats.md 3.8: a quarter of the calls before, none of ten now, comes by chance 1 time of 18.
  Month month;
  month.Add(0, Call("fp_a"), 75).Add(0, Call("fp_b"), 25).Add(1, Call("fp_a"), 10);
  EXPECT_EQ(Kinds(month.Timeline()), Texts{});
  month.Add(2, Call("fp_a"), 90);
  const EndpointTimeline timeline = month.Timeline();
  ASSERT_FALSE(timeline.changes.empty());
  EXPECT_TRUE(timeline.changes[0].kind == ChangeKind::kVanished ||
              timeline.changes[0].kind == ChangeKind::kMixShift);
}

TEST(FingerprintTimeline, NullAbsentEmptyAndConstantAreToldApart) {
  EXPECT_EQ(Month().Add(0, Call("", Presence::kNull), 50).Timeline().coverage, Coverage::kNull);
  EXPECT_EQ(Month().Add(0, Call("", Presence::kAbsent), 50).Timeline().coverage, Coverage::kAbsent);
  EXPECT_EQ(Month().Add(0, Call("", Presence::kEmpty), 50).Timeline().coverage, Coverage::kEmpty);
  EXPECT_EQ(Month().Add(0, Call("fp_ollama"), 50).Timeline().coverage, Coverage::kConstant);
  EXPECT_EQ(Month().Add(0, Call("fp_a"), 3).Timeline().coverage, Coverage::kVaries);
  EXPECT_EQ(
      Month().Add(0, Call("fp_a"), 50).Add(0, Call("", Presence::kNull), 50).Timeline().coverage,
      Coverage::kPartly);
}

TEST(FingerprintTimeline, AFieldThatGoesNullIsAnEvent) {
  const EndpointTimeline timeline =
      Month().Add(0, Call("fp_a"), 50).Add(1, Call("", Presence::kNull), 50).Timeline();
  EXPECT_EQ(Kinds(timeline), Texts{"presence (null)"});
  EXPECT_TRUE(timeline.changes[0].ends_epoch());
}

TEST(FingerprintTimeline, AnAliasThatMovesAndATierThatIsNewAreTold) {
  CallIdentity moved = Call("fp_a");
  moved.served_model = "gpt-4o-2024-11-20";
  CallIdentity flex = Call("fp_a");
  flex.service_tier = "flex";
  const EndpointTimeline timeline = Month()
                                        .Add(0, Call("fp_a"), 50)
                                        .Add(3, moved, 50)
                                        .Add(4, moved, 5)
                                        .Add(4, flex, 1)
                                        .Timeline();
  ASSERT_GE(timeline.changes.size(), 2U);
  EXPECT_EQ(timeline.changes[0].kind, ChangeKind::kServedModel);
  EXPECT_EQ(timeline.changes[0].before, "gpt-4o-2024-08-06");
  EXPECT_EQ(timeline.changes[0].value, "gpt-4o-2024-11-20");
  const auto tier = std::find_if(timeline.changes.begin(), timeline.changes.end(),
                                 [](const Change& c) { return c.kind == ChangeKind::kTier; });
  ASSERT_NE(tier, timeline.changes.end());
  EXPECT_EQ(tier->value, "flex");
  EXPECT_FALSE(tier->ends_epoch());
}

TEST(FingerprintTimeline, AChangeVoidsTheBaselinesOfBefore) {
  CallIdentity probe = Call("fp_a");
  probe.service = "drift baseline canary";
  CallIdentity later = Call("fp_b");
  later.service = "drift baseline fresh";
  Month month;
  month.Add(0, Call("fp_a"), 50).Add(1, probe, 20).Add(2, Call("fp_b"), 50).Add(3, later, 20);
  const EndpointTimeline timeline = month.Timeline("refunds");
  ASSERT_FALSE(timeline.changes.empty());
  EXPECT_EQ(timeline.changes[0].voids, Texts{"drift baseline canary"});
}

TEST(FingerprintTimeline, ProbesOfAnEndpointThatAServiceDoesNotUseAreNotItsOwn) {
  Sightings seen;
  CallIdentity probe = Call("fp_a");
  probe.service = "drift baseline canary";
  seen.calls.push_back({probe, kFirstHour, 1, {}, {}});
  EXPECT_TRUE(TimelinesOf(seen, "refunds").empty());
  EXPECT_EQ(TimelinesOf(seen, "").size(), 1U);
}

}  // namespace
}  // namespace reenact::identity
