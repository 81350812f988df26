// The handles of last resort: what replay mode hands out when it cannot even allocate. A replay
// that went live would spend money and change the world, so there is always a handle, and it always
// diverges. Constant-initialised: they exist before any constructor runs, and after any destructor.

#include <cstring>

#include "recorder/handles.h"

namespace reenact::recorder {
namespace {

constexpr std::string_view kReason = "replay: out of memory; nothing is live";

struct PoisonedCallHandle final : reenact_call {
  constexpr PoisonedCallHandle() = default;

  reenact_code Head(int32_t, const reenact_pair*, size_t) noexcept override {
    return REENACT_INVALID_ARGUMENT;
  }

  reenact_code Chunk(std::string_view) noexcept override { return REENACT_INVALID_ARGUMENT; }

  reenact_code AttemptFailed(std::string_view) noexcept override {
    return REENACT_INVALID_ARGUMENT;
  }

  reenact_code Next(reenact_item*) noexcept override { return REENACT_DIVERGED_CODE; }

  std::string_view Error() const noexcept override { return kReason; }

  reenact_code End(int32_t, const reenact_call_meta&) noexcept override {
    return REENACT_DIVERGED_CODE;
  }
};

struct PoisonedScopeHandle final : reenact_scope {
  constexpr PoisonedScopeHandle() = default;

  bool replaying() const noexcept override { return true; }

  reenact_disposition BeginCall(const reenact_call_info&, reenact_call** out) noexcept override {
    *out = PoisonedCall();
    return REENACT_DIVERGED;
  }

  reenact_code Now(std::string_view, int64_t* unix_ns) noexcept override {
    *unix_ns = 0;
    return REENACT_DIVERGED_CODE;
  }

  void Sleep(int64_t) noexcept override {}

  reenact_code RandomSeed(std::string_view, uint64_t* seed) noexcept override {
    *seed = 0;
    return REENACT_DIVERGED_CODE;
  }

  reenact_code WantLogprobs(std::string_view, int32_t* want) noexcept override {
    *want = 0;
    return REENACT_DIVERGED_CODE;
  }

  reenact_code AddComponent(const reenact_component&) noexcept override {
    return REENACT_DIVERGED_CODE;
  }

  reenact_code ComponentContent(const reenact_component&, reenact_bytes*) noexcept override {
    return REENACT_DIVERGED_CODE;
  }

  reenact_code Tag(std::string_view, std::string_view) noexcept override { return REENACT_OK; }

  reenact_code MarkIncident(const reenact_incident_info&) noexcept override { return REENACT_OK; }

  reenact_code BeginChild(std::string_view, reenact_scope** out) noexcept override {
    *out = PoisonedScope();
    return REENACT_DIVERGED_CODE;
  }

  void RunId(char out[27]) noexcept override { out[0] = '\0'; }

  void EndScope() noexcept override {}

  reenact_code EndRun(int32_t, std::string_view, std::string_view) noexcept override {
    return REENACT_DIVERGED_CODE;
  }
};

struct PoisonedRecorderHandle final : reenact_recorder {
  constexpr PoisonedRecorderHandle() = default;

  reenact_code Close(int64_t) noexcept override { return REENACT_OK; }

  reenact_code Flush(int64_t) noexcept override { return REENACT_OK; }

  void SetEnabled(bool) noexcept override {}

  void GetMetrics(reenact_metrics* out) noexcept override { out->mode = REENACT_MODE_REPLAY; }

  size_t Error(char* buffer, size_t capacity) noexcept override {
    return CopyText(kReason, buffer, capacity);
  }

  reenact_code OnReplay(std::string_view, void (*)(void*, reenact_bytes), void*) noexcept override {
    return REENACT_UNAVAILABLE;
  }

  reenact_code BeginRun(const reenact_run_info&, reenact_scope** out) noexcept override {
    *out = PoisonedScope();
    return REENACT_DIVERGED_CODE;
  }

  bool replaying() const noexcept override { return true; }
};

constinit PoisonedCallHandle g_call;
constinit PoisonedScopeHandle g_scope;
constinit PoisonedRecorderHandle g_recorder;

}  // namespace

reenact_recorder* PoisonedRecorder() noexcept {
  return &g_recorder;
}

reenact_scope* PoisonedScope() noexcept {
  return &g_scope;
}

reenact_call* PoisonedCall() noexcept {
  return &g_call;
}

size_t CopyText(std::string_view text, char* buffer, size_t capacity) noexcept {
  if (buffer != nullptr && capacity > 0) {
    const size_t size = text.size() < capacity ? text.size() : capacity - 1;
    std::memcpy(buffer, text.data(), size);
    buffer[size] = '\0';
  }
  return text.size();
}

}  // namespace reenact::recorder
