// A recorder in replay mode. Never freed, as in record mode: a closed one still answers, and what
// it answers is Diverged.

#ifndef REENACT_RECORDER_REPLAY_RECORDER_H_
#define REENACT_RECORDER_REPLAY_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/handles.h"
#include "recorder/options.h"
#include "recorder/replay_client.h"

namespace reenact::recorder {

class ReplayRecorder final : public reenact_recorder {
 public:
  // Always a handle. Without a replayer it is one whose every call diverges, with `*code` saying
  // that it is so. May throw bad_alloc.
  static ReplayRecorder* Open(Options options, reenact_code* code);
  // One that never had a replayer, because `why`.
  static ReplayRecorder* Dead(Options options, std::string_view why);

  reenact_code Close(int64_t deadline_ms) noexcept override;

  reenact_code Flush(int64_t) noexcept override { return REENACT_OK; }

  void SetEnabled(bool) noexcept override {}

  void GetMetrics(reenact_metrics* out) noexcept override;
  size_t Error(char* buffer, size_t capacity) noexcept override;
  reenact_code OnReplay(std::string_view entry, void (*handler)(void* user, reenact_bytes input),
                        void* user) noexcept override;
  reenact_code BeginRun(const reenact_run_info& info, reenact_scope** out) noexcept override;

  bool replaying() const noexcept override { return true; }

  // --- for runs and calls ---
  ReplayClient& client() noexcept { return client_; }

  const Options& options() const noexcept { return options_; }

  // The latest clock reading that was served: what a refused or broken clock shows.
  std::atomic<int64_t> last_clock_ns{0};

 private:
  class Drive;

  explicit ReplayRecorder(Options options);
  ~ReplayRecorder();

  const Options options_;
  ReplayClient client_;
  std::mutex drives_mutex_;
  std::vector<std::unique_ptr<Drive>> drives_;
  ReplayRecorder* next_ = nullptr;  // Keeps every one of them reachable.
  static std::atomic<ReplayRecorder*> all_;
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_REPLAY_RECORDER_H_
