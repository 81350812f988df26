// Faults that users of other tools reported, end to end: a program records through the SDK, and the
// same program replays what the store gives back.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "reenact/reenact.hpp"
#include "replayer/replay_server.h"
#include "store/reader/bundle.h"
#include "store/reader/incidents.h"
#include "store/reader/store_reader.h"
#include "tests/replayer/tape_builder.h"
#include "tests/support/temp_folder.h"

namespace reenact {
namespace {

constexpr int64_t kRecordedAt = 1'779'271'200'000'000'000;
constexpr int64_t kDay = int64_t{86'400} * 1'000'000'000;

// How often the program went to the outside.
using LiveCalls = int;
// What the program answers.
using Program = std::function<std::string(reenact::Run* run, LiveCalls* live)>;

class SdkRoundTrip : public ::testing::Test {
 protected:
  Options Recording() const {
    Options options;
    options.store = store_;
    options.service = "t";
    options.mode = Mode::kRecord;
    options.wall_clock = [] { return kRecordedAt; };
    return options;
  }

  static LiveCalls Execute(const Options& options, const Program& program) {
    LiveCalls live = 0;
    Recorder recorder(options);
    reenact::Run run = recorder.StartRun({.entry = "POST /refund", .input = "in"});
    const std::string output = program(&run, &live);
    run.Finish(output);
    return live;
  }

  schema::RecordedRun Recorded() const {
    auto reader = store::StoreReader::Open(store_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    const auto id = (*reader)->ResolveRun("last");
    EXPECT_TRUE(id.ok()) << id.status();
    auto run = (*reader)->LoadRun(*id, {});
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? *std::move(run) : schema::RecordedRun();
  }

  // The report of a replay that made no live call, on a machine whose clock shows `wall_ns`.
  static replayer::ReplayReport Replay(const schema::RecordedRun& tape, const Program& program,
                                       int64_t wall_ns = kRecordedAt + kDay) {
    replayer::ReplaySession session(tape, {});
    auto server = replayer::ReplayServer::Start(&session);
    EXPECT_TRUE(server.ok()) << server.status();
    Options options;
    options.mode = Mode::kReplay;
    options.replay_socket = (*server)->socket_path();
    options.wall_clock = [wall_ns] { return wall_ns; };
    EXPECT_EQ(Execute(options, program), 0);
    return session.Finish(replayer::kReplayTime);
  }

  const testing::TempFolder folder_;
  const std::string store_ = folder_.File("store");
};

// cases/reports.md 22 and 26: bytes, not values; what is absent does not come back as null, and no
// key moves.
TEST_F(SdkRoundTrip, AnswersComeBackAsTheBytesThatTheyWere) {
  std::string rows = "1";
  while (rows.size() < 70'000) rows += "," + std::to_string(rows.size());
  const std::vector<std::string> answers = {
      R"({"structuredContent":{"rows":[)" + rows + R"(]},"isError":true,"content":[]})",
      R"({ "isError" : false, "content":[{"type":"text","text":"ok"}] })",
      R"({"id":"x","choices":[],"created":1,"usage":{"total":3,"prompt":1}})",
      R"({"z":null,"a":{},"z":1.0})",
  };
  std::vector<std::string> seen;
  const Program program = [&](reenact::Run* run, LiveCalls* live) {
    seen.clear();
    for (size_t i = 0; i + 2 < answers.size(); ++i) {
      const auto tool = [&] {
        ++*live;
        return answers[i];
      };
      seen.push_back(run->CallTool("mcp", std::to_string(i), tool).text());
    }
    for (size_t i = answers.size() - 2; i < answers.size(); ++i) {
      const auto model = [&](Sink& sink) {
        ++*live;
        sink.Head(200);
        sink.Bytes(answers[i]);
      };
      const std::string request = R"({"model":"m-1","n":)" + std::to_string(i) + "}";
      const Result answer = run->CallModel({.provider = "openai", .request = request}, model);
      seen.push_back(answer.text());
    }
    return std::string("done");
  };
  EXPECT_EQ(Execute(Recording(), program), 4);
  const schema::RecordedRun tape = Recorded();
  const replayer::ReplayReport report = Replay(tape, program);
  EXPECT_EQ(replayer::Kinds(report), "");
  EXPECT_EQ(seen, answers);
}

// Deletes the rows of a sealed segment that `where` selects, as somebody with a file would.
void DeleteEvents(const std::string& store, const std::string& where) {
  for (const auto& entry : std::filesystem::directory_iterator(store + "/segments")) {
    if (entry.path().extension() != ".db") continue;
    ASSERT_EQ(chmod(entry.path().c_str(), 0600), 0);
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(entry.path().c_str(), &db), SQLITE_OK);
    const std::string sql = "DELETE FROM event WHERE " + where;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_changes(db), 1);
    sqlite3_close(db);
  }
}

// cases/reports.md 29: neither a store nor a tape with a call missing leads to a live one.
TEST_F(SdkRoundTrip, DeletedCallIsNamedAndNeverMadeLive) {
  const Program program = [](reenact::Run* run, LiveCalls* live) {
    std::string said;
    for (const char* tool : {"lookup_order", "refund"}) {
      const Result result = run->CallTool(tool, "{}", [&] {
        ++*live;
        return std::string("120");
      });
      said += result.diverged() ? result.error() : result.text();
    }
    return said;
  };
  EXPECT_EQ(Execute(Recording(), program), 2);
  schema::RecordedRun tape = Recorded();
  ASSERT_EQ(tape.events.size(), 2u);
  EXPECT_EQ(replayer::Kinds(Replay(tape, program)), "");

  tape.events.erase(tape.events.begin());
  const replayer::ReplayReport report = Replay(tape, program);
  const replayer::Divergence* novel = replayer::Find(report, replayer::DivergenceKind::kNovelCall);
  ASSERT_NE(novel, nullptr) << replayer::Kinds(report);
  EXPECT_EQ(novel->name, "lookup_order");
  EXPECT_EQ(report.verdict, replayer::Verdict::kDiverged);
  EXPECT_EQ(report.calls_served, 1);

  DeleteEvents(store_, "name = 'lookup_order'");
  auto reader = store::StoreReader::Open(store_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto damaged = (*reader)->LoadRun(tape.run.id, {});
  EXPECT_EQ(damaged.status().code(), absl::StatusCode::kDataLoss) << damaged.status();
  EXPECT_TRUE(
      replayer::Contains(std::string(damaged.status().message()), schema::ToString(tape.run.id)))
      << damaged.status();
}

// A token that expires two days after it was issued, checked deep inside some library.
std::string CheckToken(int64_t now_ns) {
  return now_ns < kRecordedAt + 2 * kDay ? "valid" : "expired";
}

int64_t UnixNs(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// cases/replay.md 11
TEST_F(SdkRoundTrip, ExpiryIsJudgedByTheRecordedClockOnWhateverDay) {
  const Program sealed = [](reenact::Run* run, LiveCalls*) {
    return CheckToken(UnixNs(run->Now("jwt.exp")));
  };
  Execute(Recording(), sealed);
  const schema::RecordedRun tape = Recorded();
  ASSERT_TRUE(tape.end.has_value());
  EXPECT_EQ(tape.end->output.bytes, "valid");
  for (const int day : {1, 3}) {
    const replayer::ReplayReport report = Replay(tape, sealed, kRecordedAt + day * kDay);
    EXPECT_EQ(replayer::Kinds(report), "") << "day " << day;
    EXPECT_EQ(report.output, "valid") << "day " << day;
  }
  // A library that reads another clock is found out on the third day, and not before.
  for (const int day : {1, 3}) {
    const Program unsealed = [day](reenact::Run* run, LiveCalls*) {
      run->Now("jwt.exp");
      return CheckToken(kRecordedAt + day * kDay);
    };
    const replayer::ReplayReport report = Replay(tape, unsealed, kRecordedAt + day * kDay);
    EXPECT_EQ(replayer::Kinds(report), day == 1 ? "" : "output") << "day " << day;
  }
}

// cases/reports.md 85: a back-off goes through the seam and takes no time on replay; the monotonic
// clock of the process is never touched, so that what waits by it wakes up.
TEST_F(SdkRoundTrip, FrozenWallClockHangsNeitherBackOffNorTimeout) {
  constexpr auto kTimeout = std::chrono::seconds(5);
  std::chrono::nanoseconds back_off = std::chrono::milliseconds(200);
  int attempts = 0;
  const Program program = [&](reenact::Run* run, LiveCalls* live) {
    attempts = 0;
    const auto begun = run->Now("deadline");
    const auto begun_monotonic = std::chrono::steady_clock::now();
    std::mutex mutex;
    std::condition_variable heartbeat;
    while (run->Now("deadline") - begun < kTimeout &&
           std::chrono::steady_clock::now() - begun_monotonic < 10 * kTimeout) {
      const Result result = run->CallTool("flaky", std::to_string(attempts), [&](Sink& sink) {
        ++*live;
        if (attempts < 2) return sink.End(EndState::kError, "busy");
        sink.Bytes("120");
      });
      ++attempts;
      if (result.end_state() == EndState::kComplete) return result.text();
      std::unique_lock lock(mutex);
      EXPECT_EQ(heartbeat.wait_for(lock, std::chrono::milliseconds(1)), std::cv_status::timeout);
      run->Sleep(back_off);
    }
    return std::string("timed out");
  };
  EXPECT_EQ(Execute(Recording(), program), 3);
  back_off = std::chrono::hours(1);  // Slept in earnest, the test would time out.
  const replayer::ReplayReport report = Replay(Recorded(), program);
  EXPECT_EQ(replayer::Kinds(report), "");
  EXPECT_EQ(report.output, "120");
  EXPECT_EQ(attempts, 3);
}

// cases/reports.md 82: an answer from the host's own cache is a call of the run, and told apart
// from one that the provider was asked for.
TEST_F(SdkRoundTrip, AnswerFromTheHostsCacheIsMarked) {
  const std::string request = R"({"model":"m-1"})";
  std::string cached;
  const Program program = [&](reenact::Run* run, LiveCalls* live) {
    cached.clear();
    std::string said;
    for (int i = 0; i < 2; ++i) {
      const auto client = [&](Sink& sink) {
        if (cached.empty()) {
          ++*live;
          cached = R"({"usage":{"prompt_tokens":7,"completion_tokens":3}})";
        } else {
          sink.Fact("cache", "hit");
        }
        sink.Head(200);
        sink.Bytes(cached);
      };
      said += run->CallModel({.provider = "openai", .request = request}, client).text();
    }
    return said;
  };
  EXPECT_EQ(Execute(Recording(), program), 1);
  const schema::RecordedRun tape = Recorded();
  ASSERT_EQ(tape.events.size(), 2u);
  EXPECT_EQ(tape.events[0].meta, schema::Tags());
  EXPECT_EQ(tape.events[1].meta, (schema::Tags{{"cache", "hit"}}));
  EXPECT_EQ(replayer::Kinds(Replay(tape, program)), "");
}

// The files below `folder` that hold `text`.
std::vector<std::string> FilesWith(const std::string& folder, const std::string& text) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    if (bytes.find(text) != std::string::npos) found.push_back(entry.path());
  }
  return found;
}

// cases/reports.md 74: every way of writing a run down again leaves the secret out.
TEST_F(SdkRoundTrip, NoCommandThatWritesBringsASecretBack) {
  const std::string secret = "opaque-9f8e7d6c5b4a";
  const Program program = [&](reenact::Run* run, LiveCalls* live) {
    const ModelCall call = {.provider = "openai",
                            .request = R"({"model":"m-1","user":")" + secret + "\"}",
                            .headers = {{"Authorization", "Bearer " + secret}}};
    const auto model = [&](Sink& sink) {
      ++*live;
      sink.Head(200, {{"x-request-id", secret}});
      sink.Bytes("you sent " + secret);
    };
    return run->CallModel(call, model).text();
  };
  // Writes what was recorded in each way there is; the files that hold the secret afterwards.
  const auto write_everywhere = [&](bool keep_secrets) {
    std::filesystem::remove_all(store_);
    Options options = Recording();
    options.keep_secrets = keep_secrets;
    Execute(options, program);
    const store::Bundle bundle{.runs = {Recorded()}, .meta = {}};
    EXPECT_TRUE(store::WriteBundle(bundle, folder_.File("run.reenact"), true).ok());
    std::ofstream(folder_.File("run.jsonl")) << store::ToJsonl(bundle);
    auto incidents = store::Incidents::Open(store_);
    EXPECT_TRUE(incidents.ok()) << incidents.status();
    schema::Mark mark;
    mark.id = bundle.runs[0].run.id;
    mark.run = bundle.runs[0].run.id;
    mark.title = "wrong refund";
    EXPECT_TRUE((*incidents)->OpenIncident(mark).ok());
    EXPECT_TRUE((*incidents)->Sync().ok());
    const replayer::ReplayReport report = Replay(bundle.runs[0], program);
    EXPECT_EQ(replayer::Kinds(report), "");
    std::filesystem::remove_all(folder_.File("central"));
    const store::Bundle copies{.runs = {bundle.runs[0], report.derived}, .meta = {}};
    const auto imported = store::ImportRuns(copies, folder_.File("central"));
    EXPECT_TRUE(imported.ok()) << imported.status();
    return FilesWith(folder_.path(), secret);
  };
  EXPECT_EQ(write_everywhere(false), std::vector<std::string>());
  // The segment, the bundle, the lines, the incident's copy and the imported segment.
  EXPECT_GE(write_everywhere(true).size(), 5u);
}

}  // namespace
}  // namespace reenact
