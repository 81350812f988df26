// A call that is being recorded. Model, tool and retrieval calls are one mechanism; the replayer's
// half is replayer/replay_call.cc.

#ifndef REENACT_RECORDER_RECORD_CALL_H_
#define REENACT_RECORDER_RECORD_CALL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "recorder/body_collector.h"
#include "recorder/handles.h"
#include "recorder/run.h"
#include "schema/record.h"
#include "store/ring/ring_record.h"

namespace reenact::recorder {

// Cost of Begin and End: two records into the ring; one wall and two monotonic clock reads. Handles
// are pooled and keep the memory of their strings, so that the usual call allocates nothing.
class RecordedCall final : public reenact_call {
 public:
  // Null: no memory.
  static RecordedCall* Take() noexcept;

  // Takes over a reference of `run`. When the ring drops the beginning, the call is live all the
  // same, and its end is dropped too. May throw bad_alloc.
  void Begin(RecordedRun* run, ProcessPart* part, const std::string& scope,
             const reenact_call_info& info);

  reenact_code Head(int32_t status, const reenact_pair* headers,
                    size_t header_count) noexcept override;
  reenact_code Chunk(std::string_view bytes) noexcept override;
  reenact_code AttemptFailed(std::string_view detail) noexcept override;
  reenact_code Next(reenact_item* item) noexcept override;

  std::string_view Error() const noexcept override { return {}; }

  reenact_code End(int32_t end_state, const reenact_call_meta& meta) noexcept override;

  // Back to the pool, ended or not.
  void Give() noexcept;

 private:
  RecordedCall() = default;
  ~RecordedCall() = default;
  // The part of this process, if the call began in it; null, and counted, in a forked child.
  ProcessPart* OwnPart() noexcept;
  void CheckPinned(std::string_view provider, std::string_view request);
  void AppendBegin(store::StartedCall* started, std::string_view request);
  // A request too large for the ring.
  void AppendLargeBegin(EventLog* log, store::StartedCall* started, std::string_view request);
  void AppendBeginRecord(const store::StartedCall& started, const store::SpilledBody& spilled,
                         std::string_view tail);
  bool AppendEnd(int32_t end_state, const reenact_call_meta& meta);
  // Sets the item's time.
  void AppendItem(int64_t now_ns, schema::ExchangeItem* item);

  // The record of the beginning is there, in this process.
  bool recorded() noexcept { return end_.begin_sequence != 0 && OwnPart() != nullptr; }

  void TrimExchange(uint64_t body_size);

  RecordedRun* run_ = nullptr;
  ProcessPart* part_ = nullptr;
  schema::Headers request_headers_;  // Those that may be kept.
  int64_t begun_ns_ = 0;             // Monotonic.
  BodyCollector response_;
  store::CallEnd end_;  // Its `exchange` grows as the answer arrives.
  std::string record_;  // Where records are encoded.
  int64_t last_offset_ns_ = 0;
  bool counted_in_flight_ = false;
  bool answer_lost_ = false;  // Part of the answer, for want of memory.
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_RECORD_CALL_H_
