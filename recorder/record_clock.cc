// The clock, while recording: each reading is a record of its own. The replayer's half is
// replayer/replay_clock.cc.

#include <string_view>

#include "recorder/recorder.h"
#include "recorder/run.h"
#include "recorder/system_clock.h"

namespace reenact::recorder {

reenact_code RecordedScope::AppendReading(schema::Boundary boundary, std::string_view name,
                                          uint64_t value, int64_t wall_ns) noexcept {
  Recorder* const recorder = run_->recorder();
  if (!recorder->Records(static_cast<int32_t>(boundary))) return REENACT_OK;
  ProcessPart* const part = recorder->part();
  try {
    if (!run_->Ready(part)) return REENACT_DROPPED;
    schema::Event reading;
    reading.run = run_->id();
    reading.scope = path_;
    reading.boundary = boundary;
    reading.name = name;
    reading.value = value;
    reading.started = {wall_ns, MonotonicNs()};
    reading.end_state = schema::EndState::kComplete;
    std::string record;
    store::EncodeReading(reading, &record);
    const std::string_view pieces[] = {record};
    return recorder->Append(part, store::RecordKind::kReading, pieces, 1) != 0 ? REENACT_OK
                                                                               : REENACT_DROPPED;
  } catch (...) {
    recorder->CountDrop(part, store::DropReason::kMemory, name.size());
    return REENACT_DROPPED;
  }
}

reenact_code RecordedScope::Now(std::string_view name, int64_t* unix_ns) noexcept {
  *unix_ns = run_->recorder()->WallNs();
  return AppendReading(schema::Boundary::kClock, name, static_cast<uint64_t>(*unix_ns), *unix_ns);
}

// Not recorded: a sleep brings no answer in, and on replay it is skipped.
void RecordedScope::Sleep(int64_t duration_ns) noexcept {
  SleepFor(duration_ns);
}

}  // namespace reenact::recorder
