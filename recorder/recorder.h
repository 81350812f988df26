// A recorder in record mode: what it was told, its door to the store, and what becomes of both when
// the process forks, closes or exits.
//
// Lifetime: a Recorder is never freed. A host may, by mistake or in a static destructor, use a
// recorder that it closed; then calls are live and counted, not undefined. What costs anything
// (ring, thread, segment) is released when it is closed and its last run and call have ended.
//
// Fork: everything that must not be shared with a child stands in a ProcessPart. A child makes its
// own at first use, inherits no lock, and leaves the parent's memory as it is.

#ifndef REENACT_RECORDER_RECORDER_H_
#define REENACT_RECORDER_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "recorder/event_log.h"
#include "recorder/handles.h"
#include "recorder/options.h"
#include "recorder/process_token.h"

namespace reenact::recorder {

// What a recorder has in one process.
class ProcessPart {
 public:
  ProcessPart(uint64_t token, ProcessPart* inherited) : token_(token), inherited_(inherited) {}

  uint64_t token() const noexcept { return token_; }

  // Opens the log if nobody has; null when that failed (then `*why` of Open says why).
  EventLog* log(const Options& options) noexcept {
    EventLog* log = log_.load(std::memory_order_acquire);
    return log != nullptr ? log : OpenLog(options);
  }

  EventLog* opened_log() const noexcept { return log_.load(std::memory_order_acquire); }

  void DeleteLog() noexcept;

  // True the first time for this credential: the cheap way to learn it only once.
  bool IsNewSecret(std::string_view secret) noexcept;
  std::string error();
  void SetError(std::string_view text) noexcept;

  std::atomic<uint32_t> model_calls_in_flight{0};
  std::atomic<uint64_t> dropped_without_log{0};

 private:
  EventLog* OpenLog(const Options& options) noexcept;

  const uint64_t token_;
  ProcessPart* const inherited_;  // The parent process's, kept so that it stays reachable.
  std::atomic<EventLog*> log_{nullptr};
  std::mutex mutex_;  // Guards what follows.
  bool tried_ = false;
  std::string error_;
  std::atomic<uint64_t> known_secrets_[8] = {};  // Hashes.
  std::atomic<uint32_t> next_secret_{0};
};

class Recorder final : public reenact_recorder {
 public:
  // Null with `*why` when the store may not be written. May throw bad_alloc.
  static Recorder* Open(Options options, std::string* why);

  reenact_code Close(int64_t deadline_ms) noexcept override;
  reenact_code Flush(int64_t deadline_ms) noexcept override;
  void SetEnabled(bool enabled) noexcept override;
  void GetMetrics(reenact_metrics* out) noexcept override;
  size_t Error(char* buffer, size_t capacity) noexcept override;
  reenact_code OnReplay(std::string_view entry, void (*handler)(void* user, reenact_bytes input),
                        void* user) noexcept override;
  reenact_code BeginRun(const reenact_run_info& info, reenact_scope** out) noexcept override;

  bool replaying() const noexcept override { return false; }

  // --- for runs and calls, which hold a reference each ---

  // False: closed, and its last user is gone.
  bool TryRef() noexcept;
  void Unref() noexcept;

  // This process's part; in a forked child that has no memory for one, the parent's (whose log
  // drops everything).
  ProcessPart* part() noexcept {
    ProcessPart* part = part_.load(std::memory_order_acquire);
    return part->token() == ProcessToken() ? part : PartOfChild(part);
  }

  // The sequence of the record, or 0: dropped and counted.
  uint64_t Append(ProcessPart* part, store::RecordKind kind, const std::string_view* pieces,
                  size_t count) noexcept;
  void CountDrop(ProcessPart* part, store::DropReason reason, uint64_t bytes) noexcept;
  // Of a header that carries a credential.
  void LearnSecret(ProcessPart* part, std::string_view header_value) noexcept;
  void Warn(std::string_view message) noexcept;
  // The host's clock, if it gave one and has not closed the recorder.
  int64_t WallNs() noexcept;

  bool Records(int32_t boundary) const noexcept {
    return (options_.disabled_boundaries & (1u << boundary)) == 0;
  }

  const Options& options() const noexcept { return options_; }

  std::atomic<uint64_t> floating_models{0};

 private:
  class HostClockScope;

  explicit Recorder(Options options);
  ~Recorder();
  ProcessPart* PartOfChild(ProcessPart* inherited) noexcept;
  // At the first loss, and once a minute while losses go on.
  void WarnOfDrop(store::DropReason reason) noexcept;
  // What a run that is not recorded gets: null, or where the host brought its own clock, a scope
  // that goes on reading it.
  reenact_scope* UnrecordedScope() noexcept;
  static void CloseAllAtExit() noexcept;

  const Options options_;
  std::atomic<ProcessPart*> part_{nullptr};
  std::atomic<uint32_t> refs_{1};
  std::atomic<bool> closed_{false};
  std::atomic<bool> enabled_{true};
  std::atomic<uint64_t> unsampled_runs_{0};
  std::atomic<uint64_t> used_after_close_{0};
  std::atomic<int64_t> next_drop_warning_ns_{0};  // Monotonic.
  std::unique_ptr<HostClockScope> unrecorded_scope_;
  EventLogMetrics final_metrics_;  // Written by the last Unref, before refs_ is seen as 0.
  Recorder* next_ = nullptr;       // All recorders of the process, for the exit handler.
  static std::atomic<Recorder*> all_;
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_RECORDER_H_
