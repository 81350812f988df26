#include "store/reader/store_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <utility>
#include <vector>

#include "tests/store/recorded_store.h"

namespace reenact::store {
namespace {

TEST(StoreReader, WhatWasWrittenIsReadBack) {
  RecordedStore store;
  auto writer = store.NewSegment();
  const schema::RecordedRun recorded = SampleRun(1);
  WriteRun(writer.get(), recorded);
  store.Seal(writer.get());
  auto reader = OpenStore(store.path());
  auto loaded = reader->LoadRun(RunId(1), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectSameRun(recorded, *loaded);
  EXPECT_TRUE(reader->problems().empty());
  EXPECT_FALSE(reader->is_bundle());
}

TEST(StoreReader, TheUnsealedTailIsReadWhileItsWriterWrites) {
  RecordedStore store;
  auto writer = store.NewSegment();
  schema::RecordedRun recorded = SampleRun(1);
  recorded.end.reset();
  recorded.state = schema::EndState::kIncomplete;
  WriteRun(writer.get(), recorded);
  schema::Event open = ModelCall(150, "still asking", "");
  open.run = RunId(1);
  open.end_state = schema::EndState::kIncomplete;
  open.response = {};
  open.exchange = {};
  ASSERT_EQ(writer->AddOpenCall(open), WriteCode::kOk);
  ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  auto reader = OpenStore(store.path());
  auto loaded = reader->LoadRun(RunId(1), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->in_progress);
  EXPECT_EQ(loaded->state, schema::EndState::kIncomplete);
  ASSERT_EQ(loaded->events.size(), 4U);
  EXPECT_EQ(loaded->events[3].end_state, schema::EndState::kIncomplete);
  EXPECT_EQ(loaded->events[3].request.bytes, open.request.bytes);
  auto list = reader->ListRuns({});
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 1U);
  EXPECT_TRUE(list->front().in_progress);
  EXPECT_EQ(list->front().model_calls, 2);
  EXPECT_EQ(list->front().error_calls, 0);
  // The reader is not in the way of the writer: it goes on, and seals.
  WriteRun(writer.get(), SampleRun(2));
  store.Seal(writer.get());
  list = reader->ListRuns({});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->size(), 2U);
}

TEST(StoreReader, SummariesAreDerived) {
  RecordedStore store;
  auto writer = store.NewSegment();
  schema::RecordedRun recorded = SampleRun(1);
  schema::Event failed = ModelCall(120, "again", "");
  failed.run = RunId(1);
  failed.response = Bytes(R"({"error":{"type":"overloaded_error","message":"busy"}})");
  failed.exchange = {
      {.kind = schema::ExchangeItemKind::kHead, .status = 529},
      {.kind = schema::ExchangeItemKind::kBytes, .size = failed.response.bytes.size()}};
  failed.end_state = schema::EndState::kProviderError;
  failed.end_detail = "overloaded_error";
  recorded.events.push_back(failed);
  recorded.gaps.push_back(
      {.at = At(1100), .reason = "ring_full", .count = 7, .bytes = 700, .first_sequence = 102});
  WriteRun(writer.get(), recorded);
  auto reader = OpenStore(store.path());
  auto summary = reader->Summarize(RunId(1));
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->service, "refund-agent");
  EXPECT_EQ(summary->elapsed_ns, 900'000'000);
  EXPECT_EQ(summary->state, schema::EndState::kComplete);
  EXPECT_EQ(summary->model_calls, 2);
  EXPECT_EQ(summary->tool_calls, 1);
  EXPECT_EQ(summary->error_calls, 1);
  EXPECT_EQ(summary->asked_models, std::vector<std::string>{"gpt-4o"});
  EXPECT_EQ(summary->served_models, std::vector<std::string>{"gpt-4o-2024-08-06"});
  EXPECT_EQ(summary->fingerprints, std::vector<std::string>{"fp_44709d6fcb"});
  EXPECT_EQ(summary->errors, std::vector<std::string>{"provider_error:overloaded_error: busy"});
  EXPECT_EQ(summary->lost_events, 7U);
  EXPECT_EQ(reader->Summarize(RunId(9)).status().code(), absl::StatusCode::kNotFound);
}

TEST(StoreReader, FiltersKeepWhatTheyName) {
  RecordedStore store;
  auto writer = store.NewSegment();
  for (uint8_t number = 1; number <= 4; ++number) {
    schema::RecordedRun recorded = SampleRun(number, number == 2 ? std::string(32, 'a') : "");
    if (number == 3) recorded.run.service = "other";
    if (number == 4) recorded.run.origin = schema::RunOrigin::kReplay;
    WriteRun(writer.get(), recorded);
  }
  auto reader = OpenStore(store.path());
  const auto numbers = [&](const RunFilter& filter) {
    std::string found;
    auto list = reader->ListRuns(filter);
    EXPECT_TRUE(list.ok()) << list.status();
    for (const RunSummary& summary : *list) found += summary.tags.at(1).second;
    return found;
  };
  EXPECT_EQ(numbers({}), "123");
  EXPECT_EQ(numbers({.include_replays = true}), "1234");
  EXPECT_EQ(numbers({.service = "other"}), "3");
  EXPECT_EQ(numbers({.trace_id = "aaaa"}), "2");
  EXPECT_EQ(numbers({.since_wall_ns = At(2000).wall_ns}), "23");
  EXPECT_EQ(numbers({.until_wall_ns = At(2000).wall_ns}), "12");
  EXPECT_EQ(numbers({.model = "gpt-4o-2024*"}), "123");
  EXPECT_EQ(numbers({.model = "gpt-4"}), "");
  EXPECT_EQ(numbers({.tags = {{"number", "2"}}}), "2");
  EXPECT_EQ(numbers({.tags = {{"number", ""}, {"tenant", "acme"}}}), "123");
  EXPECT_EQ(numbers({.errors_only = true}), "");
  EXPECT_EQ(numbers({.limit = 2}), "23");
}

TEST(StoreReader, ErrorsAreFoundByWhatTheProviderAToolOrTheRunSaid) {
  RecordedStore store;
  auto writer = store.NewSegment();
  for (uint8_t number = 1; number <= 4; ++number) {
    schema::RecordedRun recorded = SampleRun(number);
    schema::Event& event = recorded.events[1];
    if (number == 2) {
      event = ModelCall(event.sequence, "again", "");
      event.run = recorded.run.id;
      event.response =
          Bytes(R"({"error":{"type":"overloaded_error","message":"come back later"}})");
      event.exchange = {
          {.kind = schema::ExchangeItemKind::kHead, .status = 529},
          {.kind = schema::ExchangeItemKind::kBytes, .size = event.response.bytes.size()}};
    }
    if (number == 3) {
      event.end_state = schema::EndState::kError;
      event.end_detail = "exception: kaput";
    }
    if (number == 4) {
      recorded.end->state = schema::EndState::kError;
      recorded.end->detail = "the ledger is closed";
    }
    WriteRun(writer.get(), recorded);
  }
  auto reader = OpenStore(store.path());
  const auto numbers = [&](const std::string& error) {
    std::string found;
    auto list = reader->ListRuns({.error = error});
    EXPECT_TRUE(list.ok()) << list.status();
    for (const RunSummary& summary : *list) found += summary.tags.at(1).second;
    return found;
  };
  EXPECT_EQ(numbers("come back later"), "2");
  EXPECT_EQ(numbers("overloaded_error"), "2");
  EXPECT_EQ(numbers("kaput"), "3");
  EXPECT_EQ(numbers("ledger"), "4");
  EXPECT_EQ(numbers("error"), "234");
  EXPECT_EQ(numbers("nothing like it"), "");
}

TEST(StoreReader, RunsAreResolvedByPrefixAndByLast) {
  RecordedStore store;
  auto writer = store.NewSegment();
  for (uint8_t number = 1; number <= 3; ++number) {
    schema::RecordedRun recorded = SampleRun(number);
    if (number == 3) recorded.run.origin = schema::RunOrigin::kReplay;
    WriteRun(writer.get(), recorded);
  }
  auto reader = OpenStore(store.path());
  const std::string id = ToString(RunId(1));
  EXPECT_EQ(*reader->ResolveRun("last"), RunId(2));
  EXPECT_EQ(*reader->ResolveRun(id), RunId(1));
  std::string lower = id;
  for (char& c : lower) c = static_cast<char>(tolower(c));
  EXPECT_EQ(*reader->ResolveRun(lower), RunId(1));
  EXPECT_EQ(*reader->ResolveRun(id.substr(0, 12)), RunId(1));
  const absl::Status ambiguous = reader->ResolveRun(id.substr(0, 8)).status();
  EXPECT_EQ(ambiguous.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(ambiguous.message().find(id), absl::string_view::npos) << ambiguous;
  EXPECT_EQ(reader->ResolveRun("01H").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(reader->ResolveRun("7ZZZZZ").status().code(), absl::StatusCode::kNotFound);
}

TEST(StoreReader, ARunMaySpanSegments) {
  RecordedStore store;
  const schema::RecordedRun whole = SampleRun(1);
  auto first = store.NewSegment(1'700'000'000'000);
  ASSERT_EQ(first->AddRun(whole.run), WriteCode::kOk);
  ASSERT_EQ(first->AddComponent(RunId(1), whole.components[0]), WriteCode::kOk);
  ASSERT_EQ(first->AddEvent(whole.events[0]), WriteCode::kOk);
  ASSERT_EQ(first->AddOpenCall(whole.events[1]), WriteCode::kOk);
  ASSERT_EQ(first->Commit(), WriteCode::kOk);
  auto second = store.NewSegment(1'700'000'001'000);
  ASSERT_EQ(second->AddRun(whole.run), WriteCode::kOk);
  ASSERT_EQ(second->AddComponent(RunId(1), whole.components[0]), WriteCode::kOk);
  ASSERT_EQ(second->AddEvent(whole.events[1]), WriteCode::kOk);
  ASSERT_EQ(second->AddEvent(whole.events[2]), WriteCode::kOk);
  ASSERT_EQ(second->AddRunEnd(*whole.end), WriteCode::kOk);
  ASSERT_EQ(second->Commit(), WriteCode::kOk);
  store.Seal(first.get());
  auto reader = OpenStore(store.path());
  auto loaded = reader->LoadRun(RunId(1), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectSameRun(whole, *loaded);
  auto summary = reader->Summarize(RunId(1));
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->model_calls, 1);
  EXPECT_EQ(summary->tool_calls, 1);
  EXPECT_EQ(summary->error_calls, 0);
}

// cases/replay.md 20
TEST(StoreReader, ACorruptSegmentHidesNoOther) {
  RecordedStore store;
  auto good = store.NewSegment(1'700'000'000'000);
  WriteRun(good.get(), SampleRun(1));
  store.Seal(good.get());
  const std::string bad_path = store.NewSegmentPath(1'700'000'001'000);
  std::ofstream(bad_path) << std::string(5000, 'x');
  const std::string newer_path = store.NewSegmentPath(1'700'000'002'000);
  std::filesystem::copy_file(good->path(), newer_path);
  Tamper(newer_path, "PRAGMA user_version=7");
  auto reader = OpenStore(store.path());
  auto list = reader->ListRuns({});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->size(), 1U);
  ASSERT_EQ(reader->problems().size(), 2U);
  EXPECT_NE(reader->problems()[0].find("no SQLite file"), std::string::npos);
  EXPECT_NE(reader->problems()[1].find("schema version 7"), std::string::npos);
  EXPECT_EQ(StoreReader::Open(newer_path).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(StoreReader::Open(bad_path).status().code(), absl::StatusCode::kDataLoss);
}

// A recorder that has made its file and written neither mark nor id yet.
TEST(StoreReader, ASegmentThatIsJustBeingMadeIsNoDamage) {
  RecordedStore store;
  const std::string path = store.path() + "/segments/7ZZZZZZZZZZZZZZZZZZZZZZZZZ.db";
  sqlite::Connection connection;
  ASSERT_EQ(connection.Open(path, sqlite::OpenMode::kCreate), sqlite::Failure::kNone);
  ASSERT_EQ(connection.Execute("CREATE TABLE begun(x)"), sqlite::Failure::kNone);
  connection = {};
  auto reader = OpenStore(store.path());
  ASSERT_TRUE(reader->ListRuns({}).ok());
  EXPECT_TRUE(reader->problems().empty()) << reader->problems().front();

  const timespec long_ago[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
  reader = OpenStore(store.path());
  ASSERT_TRUE(reader->ListRuns({}).ok());
  EXPECT_EQ(reader->problems().size(), 1U) << "what stays like that holds nothing that can be read";
}

// Each of these lies where a segment should be. SQLite would wait at a FIFO for ever.
TEST(StoreReader, WhatIsNoFileIsNamedAndHidesNothing) {
  RecordedStore store;
  auto good = store.NewSegment();
  WriteRun(good.get(), SampleRun(1));
  store.Seal(good.get());
  const std::vector<std::pair<std::string, std::function<void(const std::string&)>>> kinds = {
      {"fifo", [](const std::string& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }},
      {"folder", [](const std::string& path) { std::filesystem::create_directory(path); }},
      {"loop", [](const std::string& path) { std::filesystem::create_symlink(path, path); }},
      {"link to nothing",
       [](const std::string& path) { std::filesystem::create_symlink(path + ".gone", path); }},
      {"old and empty",
       [](const std::string& path) {
         std::ofstream(path).flush();
         const timespec long_ago[2] = {{.tv_sec = 1'700'000'000, .tv_nsec = 0},
                                       {.tv_sec = 1'700'000'000, .tv_nsec = 0}};
         ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
       }},
  };
  int64_t unix_ms = 1'700'000'001'000;
  for (const auto& [kind, make] : kinds) {
    SCOPED_TRACE(kind);
    const std::string path = store.NewSegmentPath(++unix_ms);
    make(path);
    auto reader = OpenStore(store.path());
    auto list = reader->ListRuns({});
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_EQ(list->size(), 1U);
    EXPECT_TRUE(reader->LoadRun(RunId(1), {}).ok());
    ASSERT_EQ(reader->problems().size(), 1U);
    EXPECT_NE(reader->problems()[0].find(path.substr(path.rfind('/') + 1)), std::string::npos)
        << reader->problems()[0];
    std::filesystem::remove(path);
  }
}

// One that is just being begun has no bytes yet, and nothing is wrong with it.
TEST(StoreReader, ASegmentThatIsBeingBegunIsNoProblem) {
  RecordedStore store;
  std::ofstream(store.NewSegmentPath(1'700'000'001'000)).flush();
  auto reader = OpenStore(store.path());
  EXPECT_TRUE(reader->ListRuns({}).ok());
  EXPECT_TRUE(reader->problems().empty());
}

// cases/replay.md 20
TEST(StoreReader, ADamagedBodyIsAnErrorThatNamesEventAndSegment) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  WriteRun(writer.get(), SampleRun(2));
  store.Seal(writer.get());
  Tamper(writer->path(),
         "UPDATE body SET frame = zeroblob(length(frame)) WHERE ordinal ="
         " (SELECT response_body FROM event WHERE sequence = 103)");
  auto reader = OpenStore(store.path());
  const absl::Status damaged = reader->LoadRun(RunId(1), {}).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(damaged.message().find("event 103"), absl::string_view::npos) << damaged;
  EXPECT_NE(damaged.message().find(".db"), absl::string_view::npos) << damaged;
  EXPECT_TRUE(reader->LoadRun(RunId(1), {.bodies = false}).ok());
  auto list = reader->ListRuns({});
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ(list->front().errors, std::vector<std::string>{"damaged"});
}

// cases/reports.md 62
TEST(StoreReader, AForeignWalIsRefused) {
  RecordedStore store;
  RecordedStore backup;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  store.Seal(writer.get());
  // A sealed file has no WAL: whatever lies beside it came from elsewhere.
  std::ofstream(writer->path() + "-wal") << std::string(4096, 'w');
  const absl::Status refused = StoreReader::Open(writer->path()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("-wal does not belong"), absl::string_view::npos) << refused;
}

// Runs `body` in a child process that then dies without closing anything.
void InDyingProcess(const std::function<void()>& body) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

void CopyOver(const std::string& from, const std::string& to) {
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
}

TEST(StoreReader, AnUnsealedSegmentOfADeadProcessIsRead) {
  RecordedStore store;
  InDyingProcess([&] {
    auto writer = store.NewSegment();
    schema::RecordedRun recorded = SampleRun(1);
    recorded.end.reset();
    WriteRun(writer.get(), recorded);
    writer.release();
  });
  auto loaded = OpenStore(store.path())->LoadRun(RunId(1), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_FALSE(loaded->in_progress);
  EXPECT_EQ(loaded->state, schema::EndState::kIncomplete);
  EXPECT_EQ(loaded->events.size(), 3U);
}

// How often SQLite began this log anew: from then on it lacks what the file got before.
uint32_t LogGeneration(const std::string& wal) {
  std::ifstream file(wal, std::ios::binary);
  file.seekg(12);
  uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(file.get());
  return number;
}

// A store whose writer died, and its file and log as they were after the first run.
class RestoredStore : public ::testing::Test {
 protected:
  void Record(uint8_t run_count, bool checkpoint_later) {
    InDyingProcess([&] {
      auto writer = store_.NewSegment();
      std::string noise(1 << 20, ' ');
      uint32_t state = 1;
      for (uint8_t number = 1; number <= run_count; ++number) {
        schema::RecordedRun recorded = SampleRun(number);
        for (uint64_t turn = 0; turn < kTurns; ++turn) {
          for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
          schema::Event event = ToolCallEvent(number * 1000U + turn * 2, "blob", "{}", noise);
          event.run = RunId(number);
          recorded.events.push_back(event);
        }
        WriteRun(writer.get(), recorded);
        if (number == 1 || checkpoint_later) {
          ASSERT_EQ(writer->CheckpointIfDue(), WriteCode::kOk);
        }
        // By another process: closing the file in this one would drop the writer's locks.
        if (number == 1) InDyingProcess([&] { CopyTo(writer->path(), old_file_); });
      }
      writer.release();
    });
    path_ = store_.layout().segments() + "/" + ListSegments(store_.layout()).at(0);
    EXPECT_EQ(OpenStore(path_)->ListRuns({})->size(), run_count);
  }

  static void CopyTo(const std::string& from, const std::string& to) {
    for (const char* suffix : {"", "-wal"}) CopyOver(from + suffix, to + suffix);
  }

  static constexpr uint64_t kTurns = 6;
  RecordedStore store_;
  const std::string old_file_ = store_.path() + "/old.db";
  std::string path_;
};

// cases/reports.md 62. Frames that only the file had are gone with it.
TEST_F(RestoredStore, AnOldFileBesideALogThatBeganAnewIsRefused) {
  Record(5, true);
  ASSERT_GE(LogGeneration(path_ + "-wal"), LogGeneration(old_file_ + "-wal") + 2);
  CopyOver(old_file_, path_);
  const absl::Status refused = StoreReader::Open(path_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_NE(refused.message().find("-wal does not belong"), absl::string_view::npos) << refused;
}

// Every frame since the copy is in the log: nothing is missing.
TEST_F(RestoredStore, AnOldFileBesideALogThatHoldsAllSinceIsReadWhole) {
  Record(3, false);
  ASSERT_LE(LogGeneration(path_ + "-wal"), LogGeneration(old_file_ + "-wal") + 1);
  CopyOver(old_file_, path_);
  const auto reader = OpenStore(path_);
  ASSERT_EQ(reader->ListRuns({})->size(), 3U);
  for (uint8_t number = 1; number <= 3; ++number) {
    const absl::StatusOr<schema::RecordedRun> run = reader->LoadRun(RunId(number), {});
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->events.size(), SampleRun(number).events.size() + kTurns);
  }
}

TEST(StoreReader, AReadOnlyFolderIsReadFromACopy) {
  if (getuid() != 0) GTEST_SKIP() << "giving a folder to another user takes root";
  RecordedStore store;
  InDyingProcess([&] {
    auto writer = store.NewSegment();
    WriteRun(writer.get(), SampleRun(1));
    writer.release();
  });
  const std::string segments = store.layout().segments();
  unlink((segments + "/" + ListSegments(store.layout()).at(0) + "-shm").c_str());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store.path()))
    chmod(entry.path().c_str(), entry.is_directory() ? 0555 : 0444);
  chmod(store.path().c_str(), 0555);
  // Modes that forbid writing do not make a file sealed; its rows say that it is not.
  InDyingProcess([&] {
    ASSERT_EQ(setresuid(65534, 65534, 65534), 0);
    auto reader = OpenStore(store.path());
    auto loaded = reader->LoadRun(RunId(1), {});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->events.size(), 3U);
    EXPECT_EQ(reader->ListRuns({})->size(), 1U);
    EXPECT_TRUE(reader->problems().empty());
  });
  chmod(store.path().c_str(), 0755);
  chmod(segments.c_str(), 0755);
}

struct FileState {
  int64_t size = 0;
  int64_t changed_ns = 0;
  bool operator==(const FileState&) const = default;
};

// By name only: opening a file that this process writes would drop its locks.
FileState StateOf(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

// cases/reports.md 56
TEST(StoreReader, NeverWritesOrCheckpointsASegment) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  const FileState file = StateOf(writer->path());
  const FileState wal = StateOf(writer->path() + "-wal");
  EXPECT_GT(wal.size, 0);
  for (int turn = 0; turn < 3; ++turn) {
    auto reader = OpenStore(store.path());
    EXPECT_EQ(reader->ListRuns({})->size(), 1U);
    EXPECT_TRUE(reader->LoadRun(RunId(1), {}).ok());
    EXPECT_TRUE(reader->Search("euros", 0).ok());
  }
  EXPECT_EQ(StateOf(writer->path()), file);
  EXPECT_EQ(StateOf(writer->path() + "-wal"), wal);
}

// cases/reports.md 58
TEST(StoreReader, AnOpenOneDoesNotMakeTheWalGrow) {
  RecordedStore store;
  auto writer = store.NewSegment();
  WriteRun(writer.get(), SampleRun(1));
  auto reader = OpenStore(store.path());
  EXPECT_EQ(reader->ListRuns({})->size(), 1U);
  std::string noise(1 << 20, ' ');
  uint32_t state = 1;
  for (uint64_t turn = 0; turn < 24; ++turn) {
    for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    schema::Event event = ToolCallEvent(200 + turn * 2, "blob", "{}", noise);
    event.run = RunId(1);
    ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
    ASSERT_EQ(writer->Commit(), WriteCode::kOk);
    ASSERT_EQ(writer->CheckpointIfDue(), WriteCode::kOk);
    EXPECT_TRUE(reader->LoadRun(RunId(1), {.bodies = false}).ok());
    EXPECT_LT(StateOf(writer->path() + "-wal").size, int64_t{10} << 20);
  }
  EXPECT_GT(StateOf(writer->path()).size, int64_t{16} << 20);
}

TEST(StoreReader, WhatIsNoStoreIsNotFound) {
  RecordedStore store;
  EXPECT_EQ(StoreReader::Open(store.path() + "/nowhere").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(StoreReader::Open(store.layout().segments()).status().code(),
            absl::StatusCode::kNotFound);
  auto reader = OpenStore(store.path());
  EXPECT_TRUE(reader->ListRuns({})->empty());
  EXPECT_EQ(reader->ResolveRun("last").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace reenact::store
