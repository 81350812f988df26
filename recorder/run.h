// A run that is being recorded, and its scopes.

#ifndef REENACT_RECORDER_RUN_H_
#define REENACT_RECORDER_RUN_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "recorder/handles.h"
#include "recorder/recorder.h"
#include "schema/record.h"

namespace reenact::recorder {

// With fresh random bits; a forked child never repeats its parent.
schema::Ulid NewUlid(int64_t wall_ns) noexcept;

// The path of a child scope: keys joined by '/', with '~' and '/' in them written "~0" and "~1".
std::string ChildPath(std::string_view parent, std::string_view key);

// Cuts `bytes` to what may stand in a ring record, and says so in the body.
schema::Body WholeOrCut(std::string_view bytes, uint64_t limit_bytes);

// What the scopes and calls of one run share. Counted: a scope or a call that the host ends after
// its run still finds it.
class RecordedRun {
 public:
  // Takes a reference of the recorder. `record` without its process facts.
  RecordedRun(Recorder* recorder, schema::Run record);
  RecordedRun(const RecordedRun&) = delete;
  RecordedRun& operator=(const RecordedRun&) = delete;

  void Ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }

  void Unref() noexcept;

  // True once the run stands in the log of this process. A forked child gets a run of its own at
  // its first use, with another id and a tag that names this one: sequence numbers begin again in
  // each process, so one run cannot have events of two.
  bool Ready(ProcessPart* part) noexcept {
    return announced_.load(std::memory_order_acquire) == part->token() || Announce(part);
  }

  // Without putting it there.
  bool IsReady(ProcessPart* part) const noexcept {
    return announced_.load(std::memory_order_acquire) == part->token();
  }

  Recorder* recorder() const noexcept { return recorder_; }

  // Of this process's run. Only once it is ready.
  const schema::Ulid& id() const noexcept { return id_; }

 private:
  ~RecordedRun() = default;
  bool Announce(ProcessPart* part) noexcept;
  bool AppendRun(ProcessPart* part);

  Recorder* const recorder_;
  const schema::Run record_;
  schema::Ulid id_;
  const int64_t born_in_pid_;
  std::atomic<uint32_t> refs_{1};
  // Token of the process in whose log the run stands; with the lowest bit set while it is being
  // put.
  std::atomic<uint64_t> announced_{0};
};

class RecordedScope final : public reenact_scope {
 public:
  // Takes over a reference of `run`.
  RecordedScope(RecordedRun* run, std::string path) : run_(run), path_(std::move(path)) {}

  bool replaying() const noexcept override { return false; }

  // record_call.cc
  reenact_disposition BeginCall(const reenact_call_info& info,
                                reenact_call** out) noexcept override;
  // record_clock.cc
  reenact_code Now(std::string_view name, int64_t* unix_ns) noexcept override;
  void Sleep(int64_t duration_ns) noexcept override;
  // record_random.cc
  reenact_code RandomSeed(std::string_view name, uint64_t* seed) noexcept override;
  reenact_code WantLogprobs(std::string_view name, int32_t* want) noexcept override;
  // run.cc
  reenact_code AddComponent(const reenact_component& component) noexcept override;

  reenact_code ComponentContent(const reenact_component&, reenact_bytes*) noexcept override {
    return REENACT_OK;
  }

  reenact_code Tag(std::string_view name, std::string_view value) noexcept override;
  reenact_code MarkIncident(const reenact_incident_info& info) noexcept override;
  reenact_code BeginChild(std::string_view key, reenact_scope** out) noexcept override;
  void RunId(char out[27]) noexcept override;
  void EndScope() noexcept override;
  reenact_code EndRun(int32_t end_state, std::string_view detail,
                      std::string_view output) noexcept override;

  RecordedRun* run() const noexcept { return run_; }

  const std::string& path() const noexcept { return path_; }

 private:
  // Records a reading of the clock, of randomness or of a policy.
  reenact_code AppendReading(schema::Boundary boundary, std::string_view name, uint64_t value,
                             int64_t wall_ns) noexcept;
  schema::Moment Moment() noexcept;

  RecordedRun* const run_;
  const std::string path_;
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_RUN_H_
