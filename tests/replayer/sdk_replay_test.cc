// Record with the SDK, replay with the SDK: the whole loop through store, bundle, socket and
// report.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest-spi.h"

#include "reenact/reenact.hpp"
#include "replayer/replay_server.h"
#include "replayer/testing/replay_fixture.h"
#include "store/reader/bundle.h"
#include "store/reader/store_reader.h"
#include "tests/replayer/tape_builder.h"

namespace reenact {
namespace {

constexpr char kEntry[] = "POST /refund";
constexpr char kInput[] = R"({"order":"A-17"})";

// A folder of its own, removed afterwards.
class Scratch {
 public:
  Scratch() {
    path_ = std::filesystem::temp_directory_path() / "reenact-sdk-replay-XXXXXX";
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }

  ~Scratch() { std::filesystem::remove_all(path_); }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// What differs from one execution of the program to the next.
struct World {
  int live_calls = 0;
  std::string tool_answer = "120";
  std::string prompt = "Refund politely.";
  int clock_reads = 1;
  bool stop_early = false;
};

// The program: the same for recording and replaying.
void HandleRefund(Recorder* recorder, const std::string& input, World* world) {
  Run run = recorder->StartRun({.entry = kEntry,
                                .input = input,
                                .components = {PromptTemplate("refund", "v1", world->prompt)}});
  std::string today;
  for (int i = 0; i < world->clock_reads; ++i) {
    today = std::to_string(run.Now("today").time_since_epoch().count());
  }
  const uint64_t draw = run.Random("id")();
  const Result docs = run.Retrieve("kb", "refund policy", [&] {
    ++world->live_calls;
    return std::string("30 days");
  });
  const Result order = run.CallTool("lookup_order", input, [&] {
    ++world->live_calls;
    return world->tool_answer;
  });
  std::string streamed;
  const std::string request = R"({"model":"m-2025-01-01","stream":true,"messages":[{"role":"user",)"
                              R"("content":")" +
                              today + " " + std::to_string(draw) + " " + docs.text() + " " +
                              order.text() + R"("}]})";
  const Result answer = run.CallModel(
      {.provider = "openai", .request = request},
      [&](Sink& sink) {
        ++world->live_calls;
        sink.Head(200, {{"content-type", "text/event-stream"}});
        sink.Bytes("data: caf\xc3");
        sink.Bytes("\xa9\n\nda");
        sink.Bytes("ta: [DONE]\n\n");
      },
      [&](std::string_view bytes) {
        streamed += "<" + std::string(bytes) + ">";
        return !(world->stop_early && streamed.size() > 5);
      });
  if (answer.diverged()) return run.Fail(answer.error());
  run.Finish(streamed);
}

// Records one run and writes it as a bundle.
void Record(const Scratch& scratch, const std::string& bundle_path, const schema::Tags& meta = {}) {
  World world;
  {
    Recorder recorder({.store = scratch / "store", .service = "t", .mode = Mode::kRecord});
    HandleRefund(&recorder, kInput, &world);
  }
  ASSERT_EQ(world.live_calls, 3);
  auto reader = store::StoreReader::Open(scratch / "store");
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto id = (*reader)->ResolveRun("last");
  ASSERT_TRUE(id.ok()) << id.status();
  auto run = (*reader)->LoadRun(*id, {});
  ASSERT_TRUE(run.ok()) << run.status();
  store::Bundle bundle;
  bundle.runs.push_back(*std::move(run));
  bundle.meta = meta;
  const absl::Status written = store::WriteBundle(bundle, bundle_path, true);
  ASSERT_TRUE(written.ok()) << written;
}

// Messages of the failures that `body` causes.
std::vector<std::string> FailuresOf(const std::function<void()>& body) {
  ::testing::TestPartResultArray results;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    body();
  }
  std::vector<std::string> messages;
  for (int i = 0; i < results.size(); ++i)
    messages.emplace_back(results.GetTestPartResult(i).message());
  return messages;
}

void Replay(const std::string& path, World* world, const testing::FixtureOptions& options = {}) {
  testing::ReplayFixture fixture(path, options);
  Recorder recorder(fixture.Replaying(Options{.service = "t"}));
  HandleRefund(&recorder, fixture.input(), world);
  fixture.Verify();
}

class SdkReplay : public ::testing::Test {
 protected:
  void SetUp() override { Record(scratch_, bundle()); }

  std::string bundle() const { return scratch_ / "incident.reenact"; }

  Scratch scratch_;
};

TEST_F(SdkReplay, SameProgramReplaysWithNothingLive) {
  for (int round = 0; round < 20; ++round) {
    World world;
    testing::ReplayFixture fixture(bundle());
    ASSERT_TRUE(fixture.ok());
    EXPECT_EQ(fixture.entry(), kEntry);
    Recorder recorder(fixture.Replaying(Options{.service = "t"}));
    HandleRefund(&recorder, fixture.input(), &world);
    const replayer::ReplayReport& report = fixture.Verify();
    EXPECT_EQ(world.live_calls, 0);
    EXPECT_EQ(report.verdict, replayer::Verdict::kReproduced);
    EXPECT_EQ(report.level, replayer::FidelityLevel::kR1);                    // Not guarded.
    EXPECT_EQ(report.output, "<data: caf\xc3><\xa9\n\nda><ta: [DONE]\n\n>");  // The same cuts.
    EXPECT_EQ(report.calls_served, 3);
    EXPECT_EQ(report.readings_served, 2);
  }
}

TEST_F(SdkReplay, DerivedRunsCanBeStoredBesideTheirParent) {
  World world;
  testing::ReplayFixture fixture(bundle());
  Recorder recorder(fixture.Replaying(Options{.service = "t"}));
  HandleRefund(&recorder, fixture.input(), &world);
  const replayer::ReplayReport& report = fixture.Verify();
  const auto added = store::ImportRuns({.runs = {report.derived}, .meta = {}}, scratch_ / "store");
  ASSERT_TRUE(added.ok()) << added.status();
  auto reader = store::StoreReader::Open(scratch_ / "store");
  ASSERT_TRUE(reader.ok());
  const auto loaded = (*reader)->LoadRun(report.derived.run.id, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->run.parent, report.run);
  EXPECT_EQ(loaded->events.size(), 5u);
}

// The derived run is a tape itself: a replay of a replay says the same.
TEST_F(SdkReplay, ReplayOfTheDerivedRunHasTheSameFingerprint) {
  World world;
  testing::ReplayFixture fixture(bundle());
  Recorder recorder(fixture.Replaying(Options{.service = "t"}));
  HandleRefund(&recorder, fixture.input(), &world);
  const replayer::ReplayReport& first = fixture.Verify();
  const std::string derived_path = scratch_ / "derived.reenact";
  ASSERT_TRUE(store::WriteBundle({.runs = {first.derived}, .meta = {}}, derived_path, false).ok());
  testing::ReplayFixture again(derived_path);
  ASSERT_TRUE(again.ok());
  Recorder second_recorder(again.Replaying(Options{.service = "t"}));
  HandleRefund(&second_recorder, again.input(), &world);
  const replayer::ReplayReport& second = again.Verify();
  EXPECT_EQ(second.fingerprint, first.fingerprint);
  EXPECT_EQ(world.live_calls, 0);
}

TEST_F(SdkReplay, ChangedPromptFailsAndIsNamed) {
  const std::vector<std::string> failures = FailuresOf([&] {
    World world;
    world.prompt = "Refund politely!";
    Replay(bundle(), &world);
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_TRUE(replayer::Contains(failures[0], "component prompt_template \"refund\""))
      << failures[0];
}

// cases/replay.md 32: what the tape holds and nobody asks for fails.
TEST_F(SdkReplay, UnusedRecordsFail) {
  const std::vector<std::string> failures = FailuresOf([&] {
    testing::ReplayFixture fixture(bundle());
    Recorder recorder(fixture.Replaying(Options{.service = "t"}));
    reenact::Run run = recorder.StartRun({.entry = kEntry, .input = fixture.input()});
    run.Finish("");
    fixture.Verify();
  });
  EXPECT_EQ(failures.size(), 5u);  // Three calls and two readings.
}

TEST_F(SdkReplay, UnusedFixtureFails) {
  const std::vector<std::string> failures =
      FailuresOf([&] { const testing::ReplayFixture fixture(bundle()); });
  ASSERT_FALSE(failures.empty());
  EXPECT_TRUE(replayer::Contains(failures[0], "unused")) << failures[0];
}

TEST_F(SdkReplay, ExtraReadingFailsAndTheProgramGoesOn) {
  const std::vector<std::string> failures = FailuresOf([&] {
    World world;
    world.clock_reads = 2;
    Replay(bundle(), &world);
    EXPECT_EQ(world.live_calls, 0);
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_TRUE(replayer::Contains(failures[0], "novel_reading")) << failures[0];
}

TEST_F(SdkReplay, ConsumerThatStopsEarlierFails) {
  const std::vector<std::string> failures = FailuresOf([&] {
    World world;
    world.stop_early = true;
    Replay(bundle(), &world);
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_TRUE(replayer::Contains(failures[0], "not_read")) << failures[0];
  EXPECT_TRUE(replayer::Contains(failures[0], "read 10 of the 27 bytes")) << failures[0];
}

TEST_F(SdkReplay, OverriddenToolReachesTheProgram) {
  const std::vector<std::string> failures = FailuresOf([&] {
    World world;
    testing::FixtureOptions options;
    options.replay.overrides = {*replayer::ParseOverride("tool:lookup_order=1200")};
    Replay(bundle(), &world, options);
    EXPECT_EQ(world.live_calls, 0);
  });
  ASSERT_FALSE(failures.empty());
  EXPECT_TRUE(replayer::Contains(failures[0], "novel_call")) << failures[0];
  EXPECT_TRUE(replayer::Contains(failures[0], "messages[0].content")) << failures[0];
}

TEST_F(SdkReplay, StaleFixtureFails) {
  const std::string path = scratch_ / "stale.reenact";
  Record(scratch_, path,
         {{"fixture.reviewed", "2026-05-20T00:00:00Z"}, {"fixture.max_age_s", "86400"}});
  const auto failures_at = [&](int64_t now_wall_ns) {
    return FailuresOf([&] {
      World world;
      testing::FixtureOptions options;
      options.now_wall_ns = now_wall_ns;
      Replay(path, &world, options);
    });
  };
  constexpr int64_t kReviewed = 1'779'235'200'000'000'000;
  constexpr int64_t kDay = int64_t{86'400} * 1'000'000'000;
  EXPECT_TRUE(failures_at(kReviewed + kDay).empty());
  const std::vector<std::string> failures = failures_at(kReviewed + kDay + 1);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_TRUE(replayer::Contains(failures[0], "stale")) << failures[0];
}

TEST_F(SdkReplay, OtherFingerprintThanTheAcceptedOneFails) {
  const std::string path = scratch_ / "accepted.reenact";
  Record(scratch_, path, {{"fixture.fingerprint", std::string(64, '0')}});
  const std::vector<std::string> failures = FailuresOf([&] {
    World world;
    Replay(path, &world);
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_TRUE(replayer::Contains(failures[0], "fingerprint")) << failures[0];
}

// cases/replay.md 25: an empty fixture compares nothing.
TEST(ReplayFixture, EmptyMissingOrDamagedFileFailsAndServesNothing) {
  const Scratch scratch;
  replayer::TapeBuilder tape;
  const std::string empty = scratch / "empty.reenact";
  ASSERT_TRUE(store::WriteBundle({.runs = {tape.run()}, .meta = {}}, empty, false).ok());
  for (const std::string& path : {empty, scratch / "missing.reenact"}) {
    World world;
    const std::vector<std::string> failures = FailuresOf([&] { Replay(path, &world); });
    ASSERT_EQ(failures.size(), 1u) << path;
    EXPECT_TRUE(replayer::Contains(failures[0], path)) << failures[0];
    EXPECT_EQ(world.live_calls, 0);
  }
}

// A replay whose socket dies makes no live call.
TEST_F(SdkReplay, ServerThatDiesLeavesNothingLive) {
  World world;
  {
    auto bundle_read = store::ReadBundle(bundle());
    ASSERT_TRUE(bundle_read.ok());
    replayer::ReplaySession session(bundle_read->runs.front(), {});
    auto server = replayer::ReplayServer::Start(&session);
    ASSERT_TRUE(server.ok());
    Recorder recorder(
        {.service = "t", .mode = Mode::kReplay, .replay_socket = (*server)->socket_path()});
    server->reset();
    HandleRefund(&recorder, kInput, &world);
  }
  EXPECT_EQ(world.live_calls, 0);
}

}  // namespace
}  // namespace reenact
