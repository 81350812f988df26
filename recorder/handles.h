// What stands behind the opaque handles of reenact.h: three interfaces, and for each a recording, a
// replaying and a poisoned kind. reenact.h is the contract of every function here; abi.cc only
// checks arguments and calls them.
//
// Nothing throws: each kind turns its own failures into what its mode promises (recording: live and
// counted; replaying: diverged).

#ifndef REENACT_RECORDER_HANDLES_H_
#define REENACT_RECORDER_HANDLES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "reenact/reenact.h"

struct reenact_call {
  virtual reenact_code Head(int32_t status, const reenact_pair* headers,
                            size_t header_count) noexcept = 0;
  virtual reenact_code Chunk(std::string_view bytes) noexcept = 0;
  virtual reenact_code AttemptFailed(std::string_view detail) noexcept = 0;
  virtual reenact_code Next(reenact_item* item) noexcept = 0;
  virtual std::string_view Error() const noexcept = 0;
  // Frees the handle.
  virtual reenact_code End(int32_t end_state, const reenact_call_meta& meta) noexcept = 0;

 protected:
  constexpr reenact_call() = default;
  ~reenact_call() = default;
};

struct reenact_scope {
  // What is answered when the arguments of a call are invalid: diverged, or live.
  virtual bool replaying() const noexcept = 0;
  virtual reenact_disposition BeginCall(const reenact_call_info& info,
                                        reenact_call** out) noexcept = 0;
  virtual reenact_code Now(std::string_view name, int64_t* unix_ns) noexcept = 0;
  virtual void Sleep(int64_t duration_ns) noexcept = 0;
  virtual reenact_code RandomSeed(std::string_view name, uint64_t* seed) noexcept = 0;
  virtual reenact_code WantLogprobs(std::string_view name, int32_t* want) noexcept = 0;
  virtual reenact_code AddComponent(const reenact_component& component) noexcept = 0;
  // `*content` is that of `own` on entry.
  virtual reenact_code ComponentContent(const reenact_component& own,
                                        reenact_bytes* content) noexcept = 0;
  virtual reenact_code Tag(std::string_view name, std::string_view value) noexcept = 0;
  virtual reenact_code MarkIncident(const reenact_incident_info& info) noexcept = 0;
  virtual reenact_code BeginChild(std::string_view key, reenact_scope** out) noexcept = 0;
  virtual void RunId(char out[27]) noexcept = 0;
  // Each frees the handle.
  virtual void EndScope() noexcept = 0;
  virtual reenact_code EndRun(int32_t end_state, std::string_view detail,
                              std::string_view output) noexcept = 0;

 protected:
  constexpr reenact_scope() = default;
  ~reenact_scope() = default;
};

struct reenact_recorder {
  virtual reenact_code Close(int64_t deadline_ms) noexcept = 0;
  virtual reenact_code Flush(int64_t deadline_ms) noexcept = 0;
  virtual void SetEnabled(bool enabled) noexcept = 0;
  // Fills every member but struct_size.
  virtual void GetMetrics(reenact_metrics* out) noexcept = 0;
  virtual size_t Error(char* buffer, size_t capacity) noexcept = 0;
  virtual reenact_code OnReplay(std::string_view entry,
                                void (*handler)(void* user, reenact_bytes input),
                                void* user) noexcept = 0;
  virtual reenact_code BeginRun(const reenact_run_info& info, reenact_scope** out) noexcept = 0;
  virtual bool replaying() const noexcept = 0;

 protected:
  constexpr reenact_recorder() = default;
  ~reenact_recorder() = default;
};

namespace reenact::recorder {

inline std::string_view View(reenact_bytes bytes) noexcept {
  return bytes.data == nullptr ? std::string_view() : std::string_view(bytes.data, bytes.size);
}

// Copies as reenact_error promises: at most `capacity` bytes with the terminator; returns the whole
// length.
size_t CopyText(std::string_view text, char* buffer, size_t capacity) noexcept;

// The handles of last resort in replay mode, for want of memory. They are never freed, and every
// call on them diverges.
reenact_recorder* PoisonedRecorder() noexcept;
reenact_scope* PoisonedScope() noexcept;
reenact_call* PoisonedCall() noexcept;

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_HANDLES_H_
