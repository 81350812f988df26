// What was seen of a system, by the hour, as the catalog keeps it.

#include "store/reader/sighting.h"

#include <algorithm>
#include <string>

#include "store/reader/internal/call_traits.h"
#include "store/reader/store_reader.h"
#include "tests/store/recorded_store.h"

namespace reenact::store {
namespace {

constexpr int64_t kHourMs = 3'600'000;

Sightings SeenIn(const std::string& path) {
  auto reader = StoreReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  auto seen = (*reader)->Seen({.calls = true, .components = true, .traits = true});
  EXPECT_TRUE(seen.ok()) << seen.status();
  return *std::move(seen);
}

// A run of one model call, `hour` hours after the first.
schema::RecordedRun RunAt(uint8_t number, int64_t hour) {
  schema::RecordedRun recorded = SampleRun(number);
  recorded.events.resize(1);
  recorded.events[0].started = At(hour * kHourMs + number);
  recorded.components[0].at = recorded.events[0].started;
  recorded.run.started = recorded.events[0].started;
  return recorded;
}

int64_t CountOf(const Sightings& seen, Trait trait, const std::string& subject = "") {
  int64_t count = 0;
  for (const auto& entry : seen.traits) {
    if (entry.what.trait == trait && entry.what.subject == subject) count += entry.count;
  }
  return count;
}

TEST(Sightings, CallsAreCountedByTheHourWithTheFirstAndTheLast) {
  RecordedStore store;
  auto writer = store.NewSegment();
  for (const auto& [number, hour] : {std::pair{1, 0}, std::pair{2, 0}, std::pair{3, 2}})
    WriteRun(writer.get(), RunAt(static_cast<uint8_t>(number), hour));
  store.Seal(writer.get());
  const Sightings seen = SeenIn(store.path());
  ASSERT_EQ(seen.calls.size(), 2U);
  EXPECT_EQ(seen.calls[0].what.asked_model, "gpt-4o");
  EXPECT_EQ(seen.calls[0].what.served_model, "gpt-4o-2024-08-06");
  EXPECT_EQ(seen.calls[0].what.fingerprint, "fp_44709d6fcb");
  EXPECT_EQ(seen.calls[0].what.fingerprint_presence, schema::Presence::kValue);
  EXPECT_EQ(seen.calls[0].count, 2);
  EXPECT_EQ(seen.calls[0].first.run, RunId(1));
  EXPECT_EQ(seen.calls[0].last.run, RunId(2));
  EXPECT_EQ(seen.calls[1].hour - seen.calls[0].hour, 2);
  EXPECT_EQ(seen.calls[1].count, 1);
}

TEST(Sightings, TheSameHourOfTwoSegmentsIsOne) {
  RecordedStore store;
  for (const uint8_t number : {uint8_t{1}, uint8_t{2}}) {
    auto writer = store.NewSegment(1'700'000'000'000 + number);
    WriteRun(writer.get(), RunAt(number, 0));
    store.Seal(writer.get());
  }
  const Sightings seen = SeenIn(store.path());
  ASSERT_EQ(seen.calls.size(), 1U);
  EXPECT_EQ(seen.calls[0].count, 2);
  EXPECT_EQ(seen.calls[0].first.run, RunId(1));
  EXPECT_EQ(seen.calls[0].last.run, RunId(2));
  ASSERT_EQ(seen.components.size(), 1U);
  EXPECT_EQ(seen.components[0].count, 2);
}

TEST(Sightings, AnUnsealedSegmentIsTakenInOnceHoweverOftenItIsRead) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), RunAt(1, 0));
  EXPECT_EQ(SeenIn(store.path()).calls.at(0).count, 1);
  WriteRun(writer.get(), RunAt(2, 0));
  const Sightings seen = SeenIn(store.path());
  EXPECT_EQ(seen.calls.at(0).count, 2);
  EXPECT_EQ(seen.components.at(0).count, 2);
  EXPECT_EQ(CountOf(seen, Trait::kRun), 2);
  EXPECT_EQ(CountOf(SeenIn(store.path()), Trait::kRun), 2);
}

TEST(Sightings, AReplayTellsNothingOfTheSystem) {
  RecordedStore store;
  auto writer = store.NewSegment();
  schema::RecordedRun replay = SampleRun(1);
  replay.run.origin = schema::RunOrigin::kReplay;
  WriteRun(writer.get(), replay);
  store.Seal(writer.get());
  const Sightings seen = SeenIn(store.path());
  EXPECT_TRUE(seen.calls.empty());
  EXPECT_TRUE(seen.components.empty());
  EXPECT_TRUE(seen.traits.empty());
}

TEST(Sightings, ACallThatFailedSaysNothingOfWhoAnswers) {
  RecordedStore store;
  auto writer = store.NewSegment();
  schema::RecordedRun recorded = RunAt(1, 0);
  recorded.events[0].end_state = schema::EndState::kReset;
  WriteRun(writer.get(), recorded);
  store.Seal(writer.get());
  const Sightings seen = SeenIn(store.path());
  EXPECT_TRUE(seen.calls.empty());
  EXPECT_EQ(CountOf(seen, Trait::kLogprobsMissing), 1);
}

TEST(Sightings, ASnapshotIsToldFromUseAndContentFromOtherContent) {
  RecordedStore store;
  auto writer = store.NewSegment();
  schema::RecordedRun snapshot = RunAt(1, 0);
  snapshot.run.entry = kSnapshotEntry;
  snapshot.events.clear();
  WriteRun(writer.get(), snapshot);
  WriteRun(writer.get(), RunAt(2, 0));
  schema::RecordedRun edited = RunAt(3, 0);
  edited.components[0].content = Bytes("You refund nothing.");
  WriteRun(writer.get(), edited);
  store.Seal(writer.get());
  const Sightings seen = SeenIn(store.path());
  ASSERT_EQ(seen.components.size(), 3U);
  const auto of_snapshot = std::count_if(seen.components.begin(), seen.components.end(),
                                         [](const auto& entry) { return entry.what.snapshot; });
  EXPECT_EQ(of_snapshot, 1);
  std::vector<uint64_t> contents;
  for (const auto& entry : seen.components) contents.push_back(entry.what.content);
  std::sort(contents.begin(), contents.end());
  EXPECT_NE(contents.front(), contents.back());
  EXPECT_TRUE(contents[0] == contents[1] || contents[1] == contents[2]);
  EXPECT_EQ(CountOf(seen, Trait::kRun), 2);  // A snapshot is no run of the service.
}

TEST(Sightings, WhatWasPrunedIsNoLongerSeen) {
  RecordedStore store;
  for (const uint8_t number : {uint8_t{1}, uint8_t{2}}) {
    auto writer = store.NewSegment(1'700'000'000'000 + number);
    WriteRun(writer.get(), RunAt(number, number));
    store.Seal(writer.get());
  }
  EXPECT_EQ(SeenIn(store.path()).calls.size(), 2U);
  const std::string first = ListSegments(store.layout()).front();
  std::filesystem::remove(store.layout().segments() + "/" + first);
  const Sightings seen = SeenIn(store.path());
  ASSERT_EQ(seen.calls.size(), 1U);
  EXPECT_EQ(seen.calls[0].first.run, RunId(2));
}

TEST(Sightings, ToolsThatAreAskedForAndToolsThatAreRecordedAreCounted) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  store.Seal(writer.get());
  const Sightings seen = SeenIn(store.path());
  EXPECT_EQ(CountOf(seen, Trait::kToolRecorded, "lookup_order"), 1);
  EXPECT_EQ(CountOf(seen, Trait::kToolAsked, "lookup_order"), 0);
  EXPECT_EQ(CountOf(seen, Trait::kClockRead), 0);
}

// How a request is asked, without a store.
std::vector<Trait> TraitsOf(const std::string& request, internal::EarlierCall* earlier) {
  schema::Event event = ModelCall(1, "", "");
  event.request = Bytes(request);
  event.response = {};  // Nobody counted the tokens.
  return internal::TraitsOf(event, schema::ViewModelCall(event), earlier);
}

bool Has(const std::vector<Trait>& traits, Trait trait) {
  return std::find(traits.begin(), traits.end(), trait) != traits.end();
}

TEST(CallTraits, SettingsAreReadInEveryDialect) {
  internal::EarlierCall earlier;
  const auto chat = TraitsOf(
      R"({"model":"m","temperature":0,"top_p":1,"max_tokens":4000,"logprobs":true,"messages":[]})",
      &earlier);
  EXPECT_TRUE(Has(chat, Trait::kTemperatureZero));
  EXPECT_TRUE(Has(chat, Trait::kTopPOne));
  EXPECT_TRUE(Has(chat, Trait::kLongAnswerAllowed));
  EXPECT_FALSE(Has(chat, Trait::kLogprobsMissing));
  EXPECT_FALSE(Has(chat, Trait::kSeedMissing));  // Nothing is sampled.
  const auto gemini = TraitsOf(
      R"({"contents":[],"generationConfig":{"temperature":0.0,"topK":1,"maxOutputTokens":8}})",
      &earlier);
  EXPECT_TRUE(Has(gemini, Trait::kTemperatureZero));
  EXPECT_TRUE(Has(gemini, Trait::kTopKOne));
  EXPECT_TRUE(Has(gemini, Trait::kLogprobsMissing));
  EXPECT_FALSE(Has(gemini, Trait::kLongAnswerAllowed));
}

TEST(CallTraits, ASeedThatIsTheSameAgainIsFixed) {
  internal::EarlierCall earlier;
  EXPECT_FALSE(Has(TraitsOf(R"({"seed":7,"messages":[]})", &earlier), Trait::kSeedRepeated));
  EXPECT_TRUE(Has(TraitsOf(R"({"seed":7,"messages":[]})", &earlier), Trait::kSeedRepeated));
  EXPECT_FALSE(Has(TraitsOf(R"({"seed":8,"messages":[]})", &earlier), Trait::kSeedRepeated));
  EXPECT_TRUE(Has(TraitsOf(R"({"messages":[]})", &earlier), Trait::kSeedMissing));
}

TEST(CallTraits, APromptThatBeginsWithTheTimeIsNotServedFromACache) {
  internal::EarlierCall earlier;
  const auto prompt = [](const std::string& head) {
    return R"({"messages":[{"role":"system","content":")" + head + std::string(5000, 'x') +
           R"("}]})";
  };
  (void)TraitsOf(prompt("It is 12:00:01. "), &earlier);
  EXPECT_TRUE(Has(TraitsOf(prompt("It is 12:00:02. "), &earlier), Trait::kPrefixChurn));
  EXPECT_TRUE(Has(TraitsOf(prompt("It is 12:00:02. "), &earlier), Trait::kPrefixKept));
  const auto other = TraitsOf(prompt("You refund. "), &earlier);
  EXPECT_FALSE(Has(other, Trait::kPrefixChurn));
  EXPECT_FALSE(Has(other, Trait::kPrefixKept));
}

TEST(CallTraits, ARequestThatNamesItsDayReadAClock) {
  internal::EarlierCall earlier;
  // At() counts from 2023-11-14.
  EXPECT_TRUE(Has(
      TraitsOf(R"({"messages":[{"role":"system","content":"Today is 2023-11-14."}]})", &earlier),
      Trait::kNamesItsDay));
  EXPECT_FALSE(
      Has(TraitsOf(R"({"messages":[{"role":"system","content":"Since 2023-11-13."}]})", &earlier),
          Trait::kNamesItsDay));
}

TEST(CallTraits, AServerHeldToOneRequestAtATimeIsRecognised) {
  EXPECT_EQ(internal::BatchingOff("vllm serve m --max-num-seqs 1"), "max-num-seqs");
  EXPECT_EQ(internal::BatchingOff(R"({"max_num_seqs": 1})"), "max_num_seqs");
  EXPECT_EQ(internal::BatchingOff("OLLAMA_NUM_PARALLEL=1\n"), "num_parallel");
  EXPECT_EQ(internal::BatchingOff("--max-num-seqs 16 --parallel 12"), "");
  EXPECT_EQ(internal::BatchingOff("max_num_seqs"), "");
}

}  // namespace
}  // namespace reenact::store
