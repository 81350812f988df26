// Gathers one body on the caller's thread: small in memory, large in a spill file, cut at a limit.

#ifndef REENACT_RECORDER_BODY_COLLECTOR_H_
#define REENACT_RECORDER_BODY_COLLECTOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "recorder/event_log.h"
#include "schema/sha256.h"
#include "store/ring/ring_record.h"

namespace reenact::recorder {

class BodyCollector {
 public:
  // Forgets what it held and keeps its memory. `limit_bytes` 0: none. `log` is used until Finish.
  void Reset(EventLog* log, uint64_t limit_bytes);

  // Returns how many of the bytes are part of the body as it will be stored; fewer than given once
  // it is cut. May throw bad_alloc, and then the body is cut before these bytes.
  size_t Append(std::string_view bytes);

  // What to write: `tail` is the record's tail, empty when the body was spilled; it stays valid
  // until Reset.
  struct Finished {
    std::string_view tail;
    store::SpilledBody spilled;
    uint64_t size = 0;  // Bytes stored, in the tail or in the file.
  };

  Finished Finish();
  // The record that was to name the spill file was dropped: the file goes too.
  void Discard() noexcept;

  // The handle is given up in a forked child, where the parent's file must be left alone.
  void Abandon() noexcept;

 private:
  size_t Room(size_t size) const noexcept;
  void Keep(std::string_view bytes);
  void Spill();
  void Cut();

  EventLog* log_ = nullptr;
  uint64_t limit_bytes_ = 0;
  std::string memory_;
  std::unique_ptr<EventLog::Spill> spill_;
  uint64_t kept_bytes_ = 0;
  uint64_t total_bytes_ = 0;
  bool cut_ = false;
  std::optional<schema::Sha256> whole_;  // Of all bytes; there with a limit.
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_BODY_COLLECTOR_H_
