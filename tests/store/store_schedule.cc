#include "tests/store/store_schedule.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "store/format/sqlite.h"
#include "store/ring/ring_record.h"
#include "store/store_layout.h"
#include "store/writer/drain.h"
#include "tests/support/fake_time.h"
#include "tests/support/fault_vfs.h"

namespace reenact::testing {
namespace {

using store::RecordKind;

constexpr int64_t kMillisecondNs = 1'000'000;
constexpr int64_t kHourNs = int64_t{3600} * 1000 * kMillisecondNs;
// Longer than the pauses after failures, all together.
constexpr int64_t kCloseNs = 3000 * kMillisecondNs;

std::string NewestSegment(const std::string& store_path, const std::set<std::string>& but = {}) {
  const store::StoreLayout layout{store_path};
  std::string newest;
  for (const std::string& name : store::ListSegments(layout)) {
    const std::string path = layout.segments() + "/" + name;
    if (!but.contains(path)) newest = path;
  }
  return newest;
}

bool BeginReading(const std::string& path, store::sqlite::Connection* connection) {
  using store::sqlite::Failure;
  std::string answer;
  return !path.empty() &&
         connection->Open(path, store::sqlite::OpenMode::kReadOnly) == Failure::kNone &&
         connection->Execute("BEGIN") == Failure::kNone &&
         connection->QueryText("SELECT count(*) FROM event", &answer) == Failure::kNone;
}

[[noreturn]] void ServeReader(int questions, int answers, const Told* told,
                              const std::string& store_path) {
  auto pin = std::make_unique<store::sqlite::Connection>();
  for (char question = 0; ::read(questions, &question, 1) == 1;) {
    bool ok = true;
    if (question == 'r') {
      const std::string loss = FindLoss(store_path, *told, told->stored_below);
      ok = loss.empty();
      if (!ok) std::fprintf(stderr, "A reader meanwhile: %s\n", loss.c_str());
    } else {
      pin = std::make_unique<store::sqlite::Connection>();
      if (question == 'p') ok = BeginReading(NewestSegment(store_path), pin.get());
    }
    const char answer = ok ? 'y' : 'n';
    if (::write(answers, &answer, 1) != 1) break;
  }
  ::_exit(0);
}

}  // namespace

ReaderProcess::ReaderProcess(const Told* told, const std::string& store_path) {
  int to[2];
  int from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) return;
  if (::fork() == 0) {
    ::close(to[1]);
    ServeReader(to[0], from[1], told, store_path);
  }
  ::close(to[0]);
  ::close(from[1]);
  questions_ = to[1];
  answers_ = from[0];
}

ReaderProcess::~ReaderProcess() {
  ::close(questions_);
  ::close(answers_);
  ::wait(nullptr);
}

bool ReaderProcess::Ask(char question) {
  char answer = 'n';
  return ::write(questions_, &question, 1) == 1 && ::read(answers_, &answer, 1) == 1 &&
         answer == 'y';
}

StoreSchedule::StoreSchedule(uint64_t seed, const std::string& store_path, PlantedFault planted,
                             Told* told, ReaderProcess* reader)
    : random_(seed), planted_(planted), told_(told), reader_(reader) {
  options_.store_path = store_path;
  options_.ring_bytes = 1 << 20;
  options_.redaction.enabled = false;
  options_.segment_max_bytes = Draw(2) == 0 ? uint64_t{64} << 20 : 160'000 + Draw(300'000);
  options_.retention.min_free_bytes = 0;
  options_.retention.min_free_percent = 0;
  end_ = Draw(3);
  if (Draw(2) == 0) options_.retention.max_store_bytes = 150'000 + Draw(400'000);
}

void StoreSchedule::Complain(const std::string& problem) {
  if (told_->problem[0] == '\0') {
    std::snprintf(told_->problem, sizeof(told_->problem), "%s", problem.c_str());
  }
}

store::Recording StoreSchedule::RecordingOf(recorder::EventLog* log) {
  return store::Recording([log](RecordKind kind, std::string_view head, std::string_view tail) {
    const std::string_view pieces[] = {head, tail};
    store::DropReason reason = store::DropReason::kNone;
    return log->Append(kind, pieces, 2, &reason);
  });
}

void StoreSchedule::Run() {
  FaultVfs::Arm(Fault::kNone, 0, false);
  std::string why;
  log_ = recorder::SteppedLog::Open(options_, &why);
  if (log_ == nullptr) return Complain(why);
  log_->Recover();
  for (int i = 0; i < kScheduleRuns; ++i) {
    runs_.push_back(RecordingOf(log_->log()));
    told_->runs[i] = runs_.back().run();
    told_->begun[i] = runs_.back().Begin() != 0;
  }
  static constexpr std::pair<int, Step> kSteps[] = {
      {100, &StoreSchedule::Append},      {40, &StoreSchedule::TakeTurn},
      {8, &StoreSchedule::Flush},         {12, &StoreSchedule::PassTime},
      {2, &StoreSchedule::StepWallClock}, {1, &StoreSchedule::Read},
      {1, &StoreSchedule::Pin},           {2, &StoreSchedule::Unpin},
      {1, &StoreSchedule::BreakDisk},     {3, &StoreSchedule::RepairDisk},
      {1, &StoreSchedule::Mark},
  };
  int total = 0;
  for (const auto& [weight, step] : kSteps) total += weight;
  const uint64_t steps = 15 + Draw(100);
  // One fork in four schedules: a process costs as much as all the rest.
  const uint64_t fork_at = Draw(4) == 0 ? Draw(steps) : UINT64_MAX;
  for (uint64_t i = 0; i < steps && told_->problem[0] == '\0'; ++i) {
    if (i == fork_at) Fork();
    if (i == steps / 2 && planted_ == PlantedFault::kLostBatch) LoseBatch();
    auto drawn = static_cast<int>(Draw(static_cast<uint64_t>(total)));
    for (const auto& [weight, step] : kSteps) {
      drawn -= weight;
      if (drawn >= 0) continue;
      (this->*step)();
      break;
    }
  }
  End();
}

void StoreSchedule::Append() {
  const auto run = static_cast<int>(Draw(kScheduleRuns));
  if (!told_->begun[run]) {
    // Until its beginning is there, a run's events would be counted as lost.
    told_->begun[run] = runs_[static_cast<size_t>(run)].Begin() != 0;
    return;
  }
  if (Draw(3) != 0) return BeginOrEndCall(run);
  if (told_->count == kMaxScheduleRecords) return;
  const uint64_t sequence =
      runs_[static_cast<size_t>(run)].Read(static_cast<uint64_t>(told_->count));
  told_->full_rings += sequence == 0 ? 1 : 0;
  if (sequence != 0) told_->records[told_->count++] = {false, run, sequence, 0};
}

void StoreSchedule::BeginOrEndCall(int run) {
  store::Recording& recording = runs_[static_cast<size_t>(run)];
  for (int index = told_->count - 1; index >= 0; --index) {
    Told::Record& record = told_->records[index];
    if (!record.is_call || record.run != run || record.end != 0 || Draw(2) == 0) continue;
    const uint64_t end = recording.EndCall(record.begin, ScheduleResponse(index));
    told_->full_rings += end == 0 ? 1 : 0;
    if (end != 0) record.end = end;
    return;
  }
  if (told_->count == kMaxScheduleRecords) return;
  const uint64_t begin = recording.BeginCall(ScheduleRequest(told_->count));
  told_->full_rings += begin == 0 ? 1 : 0;
  if (begin != 0) told_->records[told_->count++] = {true, run, begin, 0};
}

void StoreSchedule::TakeTurn() {
  ++told_->turns;
  log_->Turn();
  NotePruned();
  told_->stored_below = log_->StoredBelow();
  const std::string newest = NewestSegment(options_.store_path, others_);
  if (newest.empty()) return;
  const auto [place, is_new] = segments_.insert_or_assign(newest, told_->stored_below);
  told_->rotations += is_new ? 1 : 0;
}

void StoreSchedule::NotePruned() {
  for (auto segment = segments_.begin(); segment != segments_.end();) {
    if (::access(segment->first.c_str(), F_OK) == 0) {
      ++segment;
      continue;
    }
    ++told_->prunes;
    const bool was_marked = mark_sequence_ != 0 && mark_sequence_ < told_->stored_below;
    told_->prunes_despite_mark += was_marked ? 1 : 0;
    told_->pruned_below = std::max(told_->pruned_below, segment->second);
    segment = segments_.erase(segment);
  }
  const size_t gone = std::erase_if(
      others_, [](const std::string& path) { return ::access(path.c_str(), F_OK) != 0; });
  told_->prunes += static_cast<int>(gone);
}

void StoreSchedule::Flush() {
  ++told_->flushes;
  const bool flushed = log_->IsFlushed();
  const bool stored = log_->StoredBelow() >= log_->state().ring->NextSequence();
  if (flushed != stored) Complain("a flush did not say whether everything is stored");
}

void StoreSchedule::PassTime() {
  static constexpr int64_t kMilliseconds[] = {1, 6, 25, 25, 300, 1100};
  FakeTime::Advance(kMilliseconds[Draw(std::size(kMilliseconds))] * kMillisecondNs);
}

void StoreSchedule::StepWallClock() {
  ++told_->wall_steps;
  FakeTime::StepWall(Draw(2) == 0 ? kHourNs : -kHourNs);
}

void StoreSchedule::Read() {
  // Ask a good disk only: what a reader does about a bad one is a matter of its own.
  if (disk_is_broken_ || Draw(3) != 0) return;
  ++told_->reads;
  if (!reader_->Finds()) Complain("a reader did not find what was stored");
}

void StoreSchedule::Pin() {
  if (pinned_ || !reader_->Pin()) return;
  pinned_ = true;
  ++told_->pins;
}

void StoreSchedule::Unpin() {
  if (pinned_) reader_->Unpin();
  pinned_ = false;
}

void StoreSchedule::Fork() {
  if (told_->forked_count == kMaxScheduleForks) return;
  ++told_->forks;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(RecordInChild() ? 0 : 1);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) {
    Complain("a forked child could not record: status " + std::to_string(status));
  }
  others_.insert(NewestSegment(options_.store_path));
}

bool StoreSchedule::RecordInChild() {
  FaultVfs::Disarm();
  const bool refused = log_->log()->InForkedChild() && runs_[0].Read(1) == 0 && !log_->IsFlushed();
  log_->LeaveToParent();
  // Its own limits, or it would prune what the parent's schedule keeps account of.
  options_.retention.max_store_bytes = uint64_t{1} << 40;
  std::string why;
  const auto own = recorder::SteppedLog::Open(options_, &why);
  if (!refused || own == nullptr) return false;
  own->Recover();
  store::Recording run = RecordingOf(own->log());
  const bool recorded = run.Begin() != 0 && run.Read(77) != 0;
  own->Turn();
  if (!recorded || !own->Close(store::MonotonicNowNs() + kCloseNs)) return false;
  told_->forked_runs[told_->forked_count++] = run.run();
  return true;
}

void StoreSchedule::BreakDisk() {
  static constexpr Fault kFaults[] = {Fault::kAnyCall, Fault::kShortWrite, Fault::kNoSpace,
                                      Fault::kSync};
  const bool lies = planted_ == PlantedFault::kLostWrites;
  disk_is_broken_ = true;
  ++told_->faults;
  const Fault fault = lies ? Fault::kLostWrite : kFaults[Draw(std::size(kFaults))];
  FaultVfs::Arm(fault, 1 + static_cast<int64_t>(Draw(40)), Draw(2) == 0);
}

void StoreSchedule::RepairDisk() {
  FaultVfs::Disarm();
  disk_is_broken_ = false;
}

void StoreSchedule::Mark() {
  if (mark_sequence_ != 0 || !told_->begun[0] || Draw(3) != 0) return;
  schema::Mark mark;
  mark.id = store::NewUlid();
  mark.run = told_->runs[0];
  std::string head;
  store::EncodeMark(mark, &head);
  const std::string_view piece = head;
  store::DropReason reason = store::DropReason::kNone;
  mark_sequence_ = log_->log()->Append(RecordKind::kMark, &piece, 1, &reason);
  told_->marks += mark_sequence_ != 0 ? 1 : 0;
}

void StoreSchedule::LoseBatch() {
  std::vector<store::RingRecord> batch;
  log_->state().ring->Take(store::kBatchRecords, store::kBatchBytes, false, &batch);
  log_->state().ring->Release();
}

void StoreSchedule::End() {
  if (Draw(4) != 0) RepairDisk();
  if (Draw(4) != 0) Unpin();
  switch (end_) {
    case 0:
      ++told_->kills;
      return;
    case 1:
      ++told_->abandons;
      log_->Abandon();
      break;
    default:
      ++told_->closes;
      told_->closed_well = log_->Close(store::MonotonicNowNs() + kCloseNs);
      break;
  }
  NotePruned();
  if (!told_->closed_well) return;
  const recorder::EventLogMetrics metrics = log_->log()->Metrics();
  if (metrics.lost != 0 || metrics.accepted != metrics.stored) {
    Complain("closed well, and yet not everything was stored");
  }
  for (const uint64_t count : metrics.dropped) told_->dropped += count;
}

}  // namespace reenact::testing
