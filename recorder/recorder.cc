#include "recorder/recorder.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "recorder/live_scope.h"
#include "recorder/run.h"
#include "recorder/system_clock.h"
#include "schema/redaction.h"
#include "schema/trace_context.h"

namespace reenact::recorder {
namespace {

// How long exit() may take for a recorder that the host did not close.
constexpr int64_t kExitDeadlineMs = 1000;

constexpr int64_t kDropWarningIntervalNs = 60'000'000'000;

// Sampling by run id: the same answer wherever the id is seen. The id's random part is the hash.
bool IsSampled(const schema::Ulid& run, double rate) noexcept {
  if (rate >= 1) return true;
  uint64_t hash = 0;
  std::memcpy(&hash, run.bytes.data() + 8, sizeof(hash));
  hash *= 0x9E3779B97F4A7C15u;
  constexpr double kTwoTo53 = 9007199254740992.0;
  return static_cast<double>(hash >> 11) < rate * kTwoTo53;
}

}  // namespace

// --- ProcessPart ---

EventLog* ProcessPart::OpenLog(const Options& options) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (tried_) return log_.load(std::memory_order_acquire);
    tried_ = true;
    log_.store(EventLog::Open(options.log, &error_).release(), std::memory_order_release);
  } catch (...) {
    // No memory: this process records nothing, and counts it.
  }
  return log_.load(std::memory_order_acquire);
}

void ProcessPart::DeleteLog() noexcept {
  delete log_.exchange(nullptr);
}

bool ProcessPart::IsNewSecret(std::string_view secret) noexcept {
  const uint64_t hash = std::hash<std::string_view>()(secret) | 1;  // 0 is an empty slot.
  for (const auto& known : known_secrets_) {
    if (known.load(std::memory_order_acquire) == hash) return false;
  }
  const uint32_t slot = next_secret_.fetch_add(1, std::memory_order_relaxed);
  known_secrets_[slot % std::size(known_secrets_)].store(hash, std::memory_order_release);
  return true;
}

std::string ProcessPart::error() {
  const std::lock_guard lock(mutex_);
  return error_;
}

void ProcessPart::SetError(std::string_view text) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    error_ = text;
  } catch (...) {
    // The error stays counted; only its words are lost.
  }
}

// --- opening and closing ---

// A run that is not recorded, in a host that brought its own clock: it goes on reading it.
class Recorder::HostClockScope final : public LiveScope {
 public:
  explicit HostClockScope(Recorder* recorder) : recorder_(recorder) {}

  reenact_code Now(std::string_view, int64_t* unix_ns) noexcept override {
    *unix_ns = recorder_->WallNs();
    return REENACT_OK;
  }

 private:
  Recorder* const recorder_;
};

constinit std::atomic<Recorder*> Recorder::all_{nullptr};

Recorder::Recorder(Options options) : options_(std::move(options)) {}

Recorder::~Recorder() = default;

Recorder* Recorder::Open(Options options, std::string* why) {
  auto part = std::make_unique<ProcessPart>(ProcessToken(), nullptr);

  // No std::unique_ptr for the recorder: nobody but this function may delete one, and only here.
  struct Deleter {
    void operator()(Recorder* recorder) const { delete recorder; }
  };

  std::unique_ptr<Recorder, Deleter> recorder(new Recorder(std::move(options)));
  if (recorder->options_.wall_clock != nullptr) {
    recorder->unrecorded_scope_ = std::make_unique<HostClockScope>(recorder.get());
  }
  if (part->log(recorder->options_) == nullptr) {
    *why = part->error();
    if (why->empty()) *why = "out of memory";
    return nullptr;
  }
  recorder->part_.store(part.release());
  Recorder* const opened = recorder.release();
  Recorder* head = all_.load();
  do {
    opened->next_ = head;
  } while (!all_.compare_exchange_weak(head, opened));
  if (head == nullptr) std::atexit([] { CloseAllAtExit(); });
  return opened;
}

void Recorder::CloseAllAtExit() noexcept {
  for (Recorder* recorder = all_.load(); recorder != nullptr; recorder = recorder->next_) {
    recorder->Close(kExitDeadlineMs);
  }
}

reenact_code Recorder::Close(int64_t deadline_ms) noexcept {
  if (closed_.exchange(true)) return REENACT_OK;
  ProcessPart* const part = part_.load(std::memory_order_acquire);
  reenact_code code = REENACT_OK;
  // A forked child that recorded nothing has nothing of its own to close.
  if (part->token() == ProcessToken()) {
    try {
      EventLog* const log = part->opened_log();
      if (log != nullptr && !log->Close(DeadlineAfter(deadline_ms))) code = REENACT_DEADLINE;
    } catch (...) {
      code = REENACT_INTERNAL;
    }
  }
  Unref();
  return code;
}

bool Recorder::TryRef() noexcept {
  uint32_t refs = refs_.load(std::memory_order_acquire);
  while (refs != 0) {
    if (refs_.compare_exchange_weak(refs, refs + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void Recorder::Unref() noexcept {
  uint32_t refs = refs_.load(std::memory_order_relaxed);
  for (;;) {
    if (refs == 1) break;
    if (refs_.compare_exchange_weak(refs, refs - 1, std::memory_order_acq_rel)) return;
  }
  ProcessPart* const part = part_.load(std::memory_order_acquire);
  if (part->token() != ProcessToken()) {
    refs_.store(0, std::memory_order_release);
    return;
  }
  // Nobody can come in any more but readers of metrics, who see refs_ as 1 and are rare: they take
  // a reference first, and find either a log or the final figures.
  try {
    if (EventLog* log = part->opened_log()) final_metrics_ = log->Metrics();
  } catch (...) {
    // Figures are lost, nothing else.
  }
  uint32_t last = 1;
  if (refs_.compare_exchange_strong(last, 0, std::memory_order_acq_rel)) {
    part->DeleteLog();
  } else {
    Unref();
  }
}

reenact_code Recorder::Flush(int64_t deadline_ms) noexcept {
  if (!TryRef()) return REENACT_OK;
  reenact_code code = REENACT_OK;
  try {
    EventLog* const log = part()->log(options_);
    if (log == nullptr) {
      code = REENACT_UNAVAILABLE;
    } else if (!log->Flush(DeadlineAfter(deadline_ms))) {
      code = REENACT_DEADLINE;
    }
  } catch (...) {
    code = REENACT_INTERNAL;
  }
  Unref();
  return code;
}

void Recorder::SetEnabled(bool enabled) noexcept {
  enabled_.store(enabled, std::memory_order_relaxed);
}

void Recorder::GetMetrics(reenact_metrics* out) noexcept {
  EventLogMetrics metrics;
  uint64_t without_log = 0;
  try {
    if (TryRef()) {
      ProcessPart* const part = part_.load(std::memory_order_acquire);
      EventLog* const log = part->token() == ProcessToken() ? part->opened_log() : nullptr;
      if (log != nullptr) metrics = log->Metrics();
      without_log = part->dropped_without_log.load(std::memory_order_relaxed);
      Unref();
    } else {
      metrics = final_metrics_;
    }
  } catch (...) {
    // Zeros: no memory for the words of an error.
  }
  const auto dropped = [&](store::DropReason reason) {
    return metrics.dropped[static_cast<size_t>(reason)];
  };
  out->accepted = metrics.accepted;
  out->stored = metrics.stored;
  out->lost = metrics.lost;
  out->dropped_ring_full = dropped(store::DropReason::kRingFull);
  out->dropped_disk_full = dropped(store::DropReason::kDiskFull);
  out->dropped_oversize = dropped(store::DropReason::kOversize);
  out->dropped_after_close =
      dropped(store::DropReason::kAfterClose) + used_after_close_.load(std::memory_order_relaxed);
  out->dropped_fork_child = dropped(store::DropReason::kForkChild);
  out->dropped_store_error = dropped(store::DropReason::kStoreError) + without_log;
  out->dropped_memory = dropped(store::DropReason::kMemory);
  out->unsampled_runs = unsampled_runs_.load(std::memory_order_relaxed);
  out->floating_models = floating_models.load(std::memory_order_relaxed);
  out->stored_bytes = metrics.stored_bytes;
  out->ring_high_water_bytes = metrics.ring_high_water_bytes;
  out->last_commit_ns = metrics.last_commit_ns;
  out->max_commit_ns = metrics.max_commit_ns;
  out->durable_ack = metrics.durable_ack ? 1 : 0;
  out->mode = REENACT_MODE_RECORD;
}

size_t Recorder::Error(char* buffer, size_t capacity) noexcept {
  if (!TryRef()) return CopyText(final_metrics_.last_error, buffer, capacity);
  size_t size = 0;
  try {
    ProcessPart* const part = part_.load(std::memory_order_acquire);
    if (part->token() == ProcessToken()) {
      std::string text = part->error();
      EventLog* const log = part->opened_log();
      if (text.empty() && log != nullptr) text = log->Metrics().last_error;
      size = CopyText(text, buffer, capacity);
    } else {
      size = CopyText({}, buffer, capacity);
    }
  } catch (...) {
    size = CopyText("out of memory", buffer, capacity);
  }
  Unref();
  return size;
}

reenact_code Recorder::OnReplay(std::string_view, void (*)(void*, reenact_bytes), void*) noexcept {
  return REENACT_OK;
}

// --- what runs and calls use ---

ProcessPart* Recorder::PartOfChild(ProcessPart* inherited) noexcept {
  auto* fresh = new (std::nothrow) ProcessPart(ProcessToken(), inherited);
  if (fresh == nullptr) return inherited;
  ProcessPart* expected = inherited;
  if (part_.compare_exchange_strong(expected, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;
  return expected;
}

uint64_t Recorder::Append(ProcessPart* part, store::RecordKind kind, const std::string_view* pieces,
                          size_t count) noexcept {
  EventLog* const log = part->log(options_);
  if (log == nullptr) {
    part->dropped_without_log.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  if (closed_.load(std::memory_order_relaxed)) {
    used_after_close_.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  store::DropReason reason = store::DropReason::kNone;
  const uint64_t sequence = log->Append(kind, pieces, count, &reason);
  if (sequence == 0) WarnOfDrop(reason);
  return sequence;
}

void Recorder::CountDrop(ProcessPart* part, store::DropReason reason, uint64_t bytes) noexcept {
  EventLog* const log = part->opened_log();
  if (log != nullptr && part->token() == ProcessToken()) {
    log->CountDrop(reason, bytes);
  } else {
    part->dropped_without_log.fetch_add(1, std::memory_order_relaxed);
  }
}

void Recorder::LearnSecret(ProcessPart* part, std::string_view header_value) noexcept {
  if (!options_.log.redaction.enabled) return;
  const std::string_view credential = schema::CredentialIn(header_value);
  if (credential.empty() || !part->IsNewSecret(credential)) return;
  if (EventLog* log = part->log(options_)) log->LearnSecret(credential);
}

void Recorder::WarnOfDrop(store::DropReason reason) noexcept {
  if (options_.warn == nullptr) return;
  const int64_t now = MonotonicNs();
  int64_t due = next_drop_warning_ns_.load(std::memory_order_relaxed);
  if (now < due || !next_drop_warning_ns_.compare_exchange_strong(due, now + kDropWarningIntervalNs,
                                                                  std::memory_order_relaxed)) {
    return;
  }
  const std::string_view why = ToString(reason);
  char text[128];
  const int size =
      std::snprintf(text, sizeof(text), "records are being dropped (%.*s): the metrics count them",
                    static_cast<int>(why.size()), why.data());
  Warn({text, static_cast<size_t>(size)});
}

void Recorder::Warn(std::string_view message) noexcept {
  if (options_.warn == nullptr || closed_.load(std::memory_order_relaxed)) return;
  options_.warn(options_.user, {message.data(), message.size()});
}

int64_t Recorder::WallNs() noexcept {
  if (options_.wall_clock == nullptr || closed_.load(std::memory_order_relaxed)) {
    return SystemWallNs();
  }
  return options_.wall_clock(options_.user);
}

// --- runs ---

reenact_scope* Recorder::UnrecordedScope() noexcept {
  return unrecorded_scope_.get();
}

reenact_code Recorder::BeginRun(const reenact_run_info& info, reenact_scope** out) noexcept {
  *out = UnrecordedScope();
  if (closed_.load(std::memory_order_relaxed) || !TryRef()) {
    used_after_close_.fetch_add(1, std::memory_order_relaxed);
    return REENACT_DROPPED;
  }

  struct Reference {
    Recorder* recorder;

    ~Reference() { recorder->Unref(); }
  } const reference{this};

  if (!enabled_.load(std::memory_order_relaxed)) return REENACT_OK;
  ProcessPart* const here = part();
  try {
    schema::Run record;
    record.started = {WallNs(), MonotonicNs()};
    record.id = NewUlid(record.started.wall_ns);
    if (!IsSampled(record.id, options_.run_sample_rate)) {
      unsampled_runs_.fetch_add(1, std::memory_order_relaxed);
      return REENACT_OK;
    }
    record.service = options_.service;
    record.entry = View(info.entry);
    record.input = WholeOrCut(View(info.input), options_.body_limit_bytes);
    record.trace_id = schema::ParseTraceId(View(info.trace_id));
    if (record.trace_id.empty() && info.trace_id.size != 0) {
      Warn("the trace id of a run is neither 32 hex digits nor a traceparent: left out");
    }
    for (size_t i = 0; i < info.tag_count; ++i) {
      record.tags.emplace_back(View(info.tags[i].name), View(info.tags[i].value));
    }
    auto* run = new RecordedRun(this, std::move(record));
    if (!run->Ready(here)) {
      run->Unref();
      return REENACT_DROPPED;
    }
    auto* scope = new (std::nothrow) RecordedScope(run, std::string());
    if (scope == nullptr) {
      run->Unref();
      throw std::bad_alloc();
    }
    *out = scope;
    reenact_code code = REENACT_OK;
    for (size_t i = 0; i < info.component_count; ++i) {
      if (scope->AddComponent(info.components[i]) != REENACT_OK) code = REENACT_DROPPED;
    }
    return code;
  } catch (...) {
    CountDrop(here, store::DropReason::kMemory, info.input.size);
    return REENACT_DROPPED;
  }
}

}  // namespace reenact::recorder
