#include "replayer/identity/system_state.h"

#include "gtest/gtest.h"

namespace reenact::identity {
namespace {

using store::CallIdentity;
using store::ComponentIdentity;
using store::Seen;
using store::Sighting;
using store::Sightings;

constexpr int64_t kMinute = 60'000'000'000;

template <typename Identity>
Seen<Identity> At(Identity what, int64_t minute, int64_t count = 1) {
  const Sighting sighting{minute * kMinute, schema::MakeUlid(minute, {}), 1};
  return {std::move(what), minute / 60, count, sighting, sighting};
}

CallIdentity Call(std::string served, schema::Presence presence, std::string fingerprint) {
  return {.service = "refunds",
          .provider = "openai",
          .endpoint = "https://api.openai.com/v1/chat/completions",
          .asked_model = "gpt-4o",
          .served_model = std::move(served),
          .fingerprint_presence = presence,
          .fingerprint = std::move(fingerprint),
          .service_tier = "default"};
}

ComponentIdentity Prompt(std::string version, uint64_t content) {
  return {.service = "refunds",
          .kind = "prompt_template",
          .name = "refund",
          .version = std::move(version),
          .content = content};
}

Sightings TwoDays() {
  Sightings seen;
  seen.components = {At(Prompt("v13", 1), 10), At(Prompt("v14", 3), 100)};
  seen.calls = {At(Call("gpt-4o-2024-08-06", schema::Presence::kValue, "fp_a"), 11, 7),
                At(Call("gpt-4o-2024-08-06", schema::Presence::kNull, ""), 12, 3),
                At(Call("gpt-4o-2024-11-20", schema::Presence::kValue, "fp_b"), 130, 1)};
  return seen;
}

TEST(SystemState, AnAliasIsToldWithTheModelThatItCameTo) {
  const SystemState state = StateAt(TwoDays(), 60 * kMinute, "");
  ASSERT_EQ(state.services.size(), 1U);
  ASSERT_EQ(state.services[0].models.size(), 1U);
  const ModelState& model = state.services[0].models[0];
  EXPECT_EQ(model.asked_model, "gpt-4o");
  EXPECT_EQ(model.name.pinning, schema::Pinning::kFloating);
  ASSERT_EQ(model.served.size(), 1U);
  EXPECT_EQ(model.served[0].value, "gpt-4o-2024-08-06");
  ASSERT_TRUE(model.after.has_value());
  EXPECT_EQ(model.after->value, "gpt-4o-2024-11-20");
}

TEST(SystemState, AbsentNullAndValueAreDifferentFingerprintsWithTheirShares) {
  const ModelState model = StateAt(TwoDays(), 60 * kMinute, "").services.at(0).models.at(0);
  EXPECT_EQ(model.calls, 10);
  ASSERT_EQ(model.fingerprints.size(), 2U);
  EXPECT_EQ(model.fingerprints[0].value, "fp_a");
  EXPECT_EQ(model.fingerprints[0].count, 7);
  EXPECT_EQ(model.fingerprints[1].value, "(null)");
  ASSERT_EQ(model.service_tiers.size(), 1U);
  EXPECT_EQ(model.service_tiers[0].value, "default");
}

TEST(SystemState, TheMixIsThatOfTheModelsInUseWithinADay) {
  Sightings seen;
  seen.calls = {At(Call("m", schema::Presence::kValue, "fp_old"), 10, 7),
                At(Call("m", schema::Presence::kValue, "fp_a"), 10 + 26 * 60, 5),
                At(Call("m", schema::Presence::kValue, "fp_b"), 10 + 30 * 60, 3)};
  const ModelState model = StateAt(seen, 31 * 60 * kMinute, "").services.at(0).models.at(0);
  EXPECT_EQ(model.calls, 8);
  EXPECT_EQ(model.fingerprints.size(), 2U);
}

TEST(SystemState, NothingIsKnownBeforeTheFirstSighting) {
  EXPECT_TRUE(StateAt(TwoDays(), 5 * kMinute, "").services.empty());
  EXPECT_TRUE(StateAt(TwoDays(), 500 * kMinute, "other").services.empty());
}

TEST(SystemState, ADifferenceNamesWhatMovedAndNothingElse) {
  const Sightings seen = TwoDays();
  const auto differences =
      Compare(StateAt(seen, 60 * kMinute, ""), StateAt(seen, 140 * kMinute, ""));
  ASSERT_EQ(differences.size(), 3U);
  EXPECT_EQ(differences[0].aspect, "fingerprints");
  EXPECT_EQ(differences[0].from, "(null), fp_a");
  EXPECT_EQ(differences[0].to, "fp_b");
  EXPECT_EQ(differences[1].aspect, "served model");
  EXPECT_EQ(differences[2].thing, "prompt_template refund");
  EXPECT_EQ(differences[2].from, "v13");
  EXPECT_EQ(differences[2].to, "v14");
  EXPECT_TRUE(Compare(StateAt(seen, 60 * kMinute, ""), StateAt(seen, 61 * kMinute, "")).empty());
}

TEST(SystemState, AVersionWhoseTextChangedIsTwoVersions) {
  Sightings seen;
  seen.components = {At(Prompt("v14", 1), 10), At(Prompt("v14", 3), 100)};
  const SystemState state = StateAt(seen, 200 * kMinute, "");
  EXPECT_EQ(state.services.at(0).components.at(0).versions.at(0).value, "v14 (other text)");
  EXPECT_EQ(state.services.at(0).components.at(0).before->value, "v14");
}

TEST(SystemState, TheProfileOfOurOwnEngineIsReadFromItsFingerprint) {
  Sightings seen;
  seen.calls = {At(Call("refund-1", schema::Presence::kValue, "n1-0123456789abcdef"), 10)};
  EXPECT_EQ(StateAt(seen, 10 * kMinute, "").services.at(0).models.at(0).engine_profile, "n1");
}

}  // namespace
}  // namespace reenact::identity
