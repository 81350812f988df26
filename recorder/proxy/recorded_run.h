// The runs that a proxy records into: one for all that it sees, or one for each trace, name or
// connection of its clients; and which requests are attempts of one call.

#ifndef REENACT_RECORDER_PROXY_RECORDED_RUN_H_
#define REENACT_RECORDER_PROXY_RECORDED_RUN_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "recorder/proxy/http_head.h"
#include "reenact/reenact.hpp"

namespace reenact::proxy {

using SteadyTime = std::chrono::steady_clock::time_point;

inline SteadyTime SteadyNow() {
  return std::chrono::steady_clock::now();
}

// Numbers the logical calls of a run. A request is a further attempt of an earlier call when its
// client says so, or when it is equal to one that failed within the last two minutes: clients send
// the same bytes again.
class AttemptBook {
 public:
  struct Attempt {
    uint64_t call = 0;     // Number of the logical call in its run, from 1.
    uint32_t attempt = 0;  // From 0.
  };

  // `fingerprint` of method, URL and body; `said`: x-stainless-retry-count, empty where not sent.
  Attempt Begin(uint64_t fingerprint, std::string_view said, SteadyTime now);
  // How it went: only what failed is tried again.
  void End(uint64_t fingerprint, bool failed, SteadyTime now);

 private:
  struct Entry {
    Attempt last;
    bool failed = false;
    SteadyTime at;
  };

  void Forget(SteadyTime now);

  std::unordered_map<uint64_t, Entry> entries_;
  uint64_t calls_ = 0;
};

// Ends its run when the last exchange has let go of it, unless the run is somebody else's.
class RecordedRun {
 public:
  explicit RecordedRun(Run* borrowed) : run_(borrowed) {}

  explicit RecordedRun(Run own) : own_(std::move(own)), run_(&own_) {}

  ~RecordedRun();
  RecordedRun(const RecordedRun&) = delete;
  RecordedRun& operator=(const RecordedRun&) = delete;

  Run& run() { return *run_; }

  AttemptBook& attempts() { return attempts_; }

 private:
  Run own_;
  Run* const run_;
  AttemptBook attempts_;
};

class RunBook {
 public:
  // With `only`, all goes there. Else a run of its own for each value of the header x-reenact-run,
  // else each W3C trace id, else each connection.
  RunBook(Recorder* recorder, Run* only, Tags tags = {});

  std::shared_ptr<RecordedRun> RunOf(const Headers& request, uint64_t connection, SteadyTime now);
  void ForgetConnection(uint64_t connection);
  // Runs that a header named and nobody spoke of for so long are over; a later request begins
  // another.
  void ForgetIdle(SteadyTime now, std::chrono::seconds idle);

  void ForgetAll() { runs_.clear(); }

  uint64_t runs_begun() const { return runs_begun_; }

 private:
  struct Entry {
    std::shared_ptr<RecordedRun> run;
    SteadyTime used;
  };

  Recorder* const recorder_;
  const Tags tags_;  // Of each run that begins here.
  std::shared_ptr<RecordedRun> only_;
  std::map<std::string, Entry> runs_;
  uint64_t runs_begun_ = 0;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_RECORDED_RUN_H_
