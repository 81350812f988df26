// The C functions of reenact.h: they check what a host passed, and hand it to the handle. A null
// handle is a recorder that is off; the first lines of each function are all that it costs.

#include <cstring>
#include <new>
#include <string>

#include "recorder/cancellation.h"
#include "recorder/handles.h"
#include "recorder/live_scope.h"
#include "recorder/open_error.h"
#include "recorder/options.h"
#include "recorder/process_token.h"
#include "recorder/recorder.h"
#include "recorder/replay_recorder.h"
#include "reenact/reenact.h"

namespace {

using reenact::recorder::Mode;
using reenact::recorder::NoCancellation;
using reenact::recorder::OffScope;
using reenact::recorder::Options;
using reenact::recorder::View;

// The sizes of the structs in 0.1, which every later one begins with. A struct that grows keeps its
// entry here, and Argument fills what an older host did not pass with zeros.
template <class Struct>
constexpr size_t kSmallest = sizeof(Struct);

// A struct that the host passed by pointer.
template <class Struct>
class Argument {
 public:
  explicit Argument(const Struct* given) noexcept {
    if (given == nullptr || given->struct_size < kSmallest<Struct>) return;
    if (given->struct_size >= sizeof(Struct)) {
      value_ = given;
      return;
    }
    std::memset(&copy_, 0, sizeof(copy_));
    std::memcpy(&copy_, given, given->struct_size);
    value_ = &copy_;
  }

  explicit operator bool() const noexcept { return value_ != nullptr; }

  const Struct& operator*() const noexcept { return *value_; }

  const Struct* operator->() const noexcept { return value_; }

 private:
  const Struct* value_ = nullptr;
  Struct copy_;  // Unused for a host of the same version.
};

// Writes as much of `filled` as the host's struct has room for.
template <class Struct>
void CopyOut(const Struct& filled, Struct* out) noexcept {
  const size_t size = out->struct_size;
  std::memcpy(out, &filled, size < sizeof(Struct) ? size : sizeof(Struct));
  out->struct_size = size;
}

constexpr int32_t kLeastSevere = 4;

bool AreValid(const reenact_pair* pairs, size_t count) noexcept {
  return pairs != nullptr || count == 0;
}

bool IsCallBoundary(int32_t boundary) noexcept {
  return boundary == REENACT_MODEL || boundary == REENACT_TOOL || boundary == REENACT_RETRIEVAL;
}

// A state that is none is the host's error, and its call or run still ended.
int32_t ValidEndState(int32_t state) noexcept {
  return state >= REENACT_END_COMPLETE && state <= REENACT_END_INCOMPLETE ? state
                                                                          : REENACT_END_ERROR;
}

reenact_code OpenReplay(const reenact_options* options, reenact_recorder** out) {
  using reenact::recorder::ReplayRecorder;
  Options checked;
  std::string why;
  reenact_code code = ReadOptions(options, Mode::kReplay, &checked, &why);
  if (code == REENACT_OK) {
    ReplayRecorder* const recorder = ReplayRecorder::Open(std::move(checked), &code);
    *out = recorder;
    if (code != REENACT_OK) why = recorder->client().error();
  } else {
    *out = ReplayRecorder::Dead(std::move(checked), why);
  }
  if (code != REENACT_OK) reenact::recorder::SetOpenError(why);
  return code;
}

reenact_code OpenRecord(const reenact_options* options, reenact_recorder** out) {
  Options checked;
  std::string why;
  reenact_code code = ReadOptions(options, Mode::kRecord, &checked, &why);
  if (code == REENACT_OK) {
    *out = reenact::recorder::Recorder::Open(std::move(checked), &why);
    if (*out == nullptr) code = REENACT_UNAVAILABLE;
  }
  if (code != REENACT_OK) reenact::recorder::SetOpenError(why);
  return code;
}

}  // namespace

int32_t reenact_version_major(void) {
  return REENACT_VERSION_MAJOR;
}

int32_t reenact_version_minor(void) {
  return REENACT_VERSION_MINOR;
}

// --- recorder ---

reenact_code reenact_open(const reenact_options* options, reenact_recorder** out) {
  const NoCancellation no_cancellation;
  if (out == nullptr) return REENACT_INVALID_ARGUMENT;
  *out = nullptr;
  reenact::recorder::ArmProcessToken();
  const Argument<reenact_options> argument(options);
  const bool invalid = options != nullptr && !argument;
  const reenact_options* const given = argument ? &*argument : nullptr;
  Mode mode = Mode::kOff;
  try {
    std::string why;
    reenact_code code = ReadMode(given, &mode, &why);
    if (invalid) {
      code = REENACT_INVALID_ARGUMENT;
      why = "the options have a struct_size that is too small";
    }
    if (code != REENACT_OK) {
      if (mode == Mode::kReplay) {
        *out = reenact::recorder::ReplayRecorder::Dead(Options(), "replay: " + why);
      }
      reenact::recorder::SetOpenError(why);
      return code;
    }
    if (mode == Mode::kOff) return REENACT_OK;
    return mode == Mode::kReplay ? OpenReplay(given, out) : OpenRecord(given, out);
  } catch (...) {
    reenact::recorder::SetOpenError("out of memory");
    *out = mode == Mode::kReplay ? reenact::recorder::PoisonedRecorder() : nullptr;
    return REENACT_UNAVAILABLE;
  }
}

reenact_code reenact_close(reenact_recorder* recorder, int64_t deadline_ms) {
  if (recorder == nullptr) return REENACT_OK;
  const NoCancellation no_cancellation;
  return recorder->Close(deadline_ms);
}

reenact_code reenact_flush(reenact_recorder* recorder, int64_t deadline_ms) {
  if (recorder == nullptr) return REENACT_OK;
  const NoCancellation no_cancellation;
  return recorder->Flush(deadline_ms);
}

void reenact_set_enabled(reenact_recorder* recorder, int32_t enabled) {
  if (recorder != nullptr) recorder->SetEnabled(enabled != 0);
}

reenact_code reenact_get_metrics(reenact_recorder* recorder, reenact_metrics* out) {
  if (out == nullptr || out->struct_size < kSmallest<reenact_metrics>) {
    return REENACT_INVALID_ARGUMENT;
  }
  reenact_metrics metrics{};
  metrics.mode = REENACT_MODE_OFF;
  if (recorder != nullptr) recorder->GetMetrics(&metrics);
  CopyOut(metrics, out);
  return REENACT_OK;
}

size_t reenact_error(reenact_recorder* recorder, char* buffer, size_t capacity) {
  return recorder == nullptr ? reenact::recorder::CopyOpenError(buffer, capacity)
                             : recorder->Error(buffer, capacity);
}

reenact_code reenact_on_replay(reenact_recorder* recorder, reenact_bytes entry,
                               void (*handler)(void* user, reenact_bytes input), void* user) {
  if (recorder == nullptr) return REENACT_OK;
  if (handler == nullptr) return REENACT_INVALID_ARGUMENT;
  const NoCancellation no_cancellation;
  return recorder->OnReplay(View(entry), handler, user);
}

// --- runs and scopes ---

reenact_code reenact_run_begin(reenact_recorder* recorder, const reenact_run_info* info,
                               reenact_scope** out) {
  if (out == nullptr) return REENACT_INVALID_ARGUMENT;
  *out = nullptr;
  if (recorder == nullptr) return REENACT_OK;
  const Argument<reenact_run_info> argument(info);
  if (!argument || !AreValid(argument->tags, argument->tag_count) ||
      (argument->components == nullptr && argument->component_count != 0)) {
    if (recorder->replaying()) *out = reenact::recorder::PoisonedScope();
    return REENACT_INVALID_ARGUMENT;
  }
  return recorder->BeginRun(*argument, out);
}

reenact_code reenact_run_end(reenact_scope* run, int32_t end_state, reenact_bytes detail,
                             reenact_bytes output) {
  if (run == nullptr) return REENACT_OK;
  return run->EndRun(ValidEndState(end_state), View(detail), View(output));
}

void reenact_run_id(reenact_scope* scope, char out[27]) {
  if (out == nullptr) return;
  (scope == nullptr ? OffScope() : scope)->RunId(out);
}

reenact_code reenact_tag(reenact_scope* scope, reenact_bytes name, reenact_bytes value) {
  return scope == nullptr ? REENACT_OK : scope->Tag(View(name), View(value));
}

reenact_code reenact_add_component(reenact_scope* scope, const reenact_component* component) {
  if (scope == nullptr) return REENACT_OK;
  const Argument<reenact_component> argument(component);
  return argument ? scope->AddComponent(*argument) : REENACT_INVALID_ARGUMENT;
}

reenact_code reenact_component_content(reenact_scope* scope, const reenact_component* own,
                                       reenact_bytes* content) {
  const Argument<reenact_component> argument(own);
  if (content == nullptr || !argument) return REENACT_INVALID_ARGUMENT;
  *content = argument->content;
  return scope == nullptr ? REENACT_OK : scope->ComponentContent(*argument, content);
}

reenact_code reenact_scope_begin(reenact_scope* parent, reenact_bytes key, reenact_scope** out) {
  if (out == nullptr) return REENACT_INVALID_ARGUMENT;
  *out = nullptr;
  return parent == nullptr ? REENACT_OK : parent->BeginChild(View(key), out);
}

void reenact_scope_end(reenact_scope* scope) {
  if (scope != nullptr) scope->EndScope();
}

reenact_code reenact_incident(reenact_scope* scope, const reenact_incident_info* info) {
  if (scope == nullptr) return REENACT_OK;
  const Argument<reenact_incident_info> argument(info);
  const bool valid = argument && argument->severity >= 0 && argument->severity <= kLeastSevere;
  return valid ? scope->MarkIncident(*argument) : REENACT_INVALID_ARGUMENT;
}

// --- clock, random, policy ---

reenact_code reenact_now(reenact_scope* scope, reenact_bytes name, int64_t* unix_ns) {
  if (unix_ns == nullptr) return REENACT_INVALID_ARGUMENT;
  return (scope == nullptr ? OffScope() : scope)->Now(View(name), unix_ns);
}

void reenact_sleep(reenact_scope* scope, int64_t duration_ns) {
  const NoCancellation no_cancellation;
  (scope == nullptr ? OffScope() : scope)->Sleep(duration_ns);
}

reenact_code reenact_random_seed(reenact_scope* scope, reenact_bytes name, uint64_t* seed) {
  if (seed == nullptr) return REENACT_INVALID_ARGUMENT;
  return (scope == nullptr ? OffScope() : scope)->RandomSeed(View(name), seed);
}

reenact_code reenact_want_logprobs(reenact_scope* scope, reenact_bytes name, int32_t* want) {
  if (want == nullptr) return REENACT_INVALID_ARGUMENT;
  return (scope == nullptr ? OffScope() : scope)->WantLogprobs(View(name), want);
}

// --- calls ---

reenact_disposition reenact_call_begin(reenact_scope* scope, const reenact_call_info* info,
                                       reenact_call** out) {
  if (out != nullptr) *out = nullptr;
  if (scope == nullptr) return REENACT_LIVE;
  const Argument<reenact_call_info> argument(info);
  if (out != nullptr && argument && IsCallBoundary(argument->boundary) &&
      AreValid(argument->headers, argument->header_count)) {
    return scope->BeginCall(*argument, out);
  }
  if (!scope->replaying()) return REENACT_LIVE;
  if (out != nullptr) *out = reenact::recorder::PoisonedCall();
  return REENACT_DIVERGED;
}

reenact_code reenact_call_head(reenact_call* call, int32_t status, const reenact_pair* headers,
                               size_t header_count) {
  if (call == nullptr) return REENACT_OK;
  if (!AreValid(headers, header_count)) return REENACT_INVALID_ARGUMENT;
  return call->Head(status, headers, header_count);
}

reenact_code reenact_call_chunk(reenact_call* call, reenact_bytes bytes) {
  return call == nullptr ? REENACT_OK : call->Chunk(View(bytes));
}

reenact_code reenact_call_attempt_failed(reenact_call* call, reenact_bytes detail) {
  return call == nullptr ? REENACT_OK : call->AttemptFailed(View(detail));
}

reenact_code reenact_call_next(reenact_call* call, reenact_item* item) {
  if (call == nullptr) return REENACT_END;
  if (item == nullptr || item->struct_size < kSmallest<reenact_item>) {
    return REENACT_INVALID_ARGUMENT;
  }
  reenact_item filled{};
  const reenact_code code = call->Next(&filled);
  if (code == REENACT_OK) CopyOut(filled, item);
  return code;
}

size_t reenact_call_error(reenact_call* call, char* buffer, size_t capacity) {
  return reenact::recorder::CopyText(call == nullptr ? std::string_view() : call->Error(), buffer,
                                     capacity);
}

reenact_code reenact_call_end(reenact_call* call, int32_t end_state,
                              const reenact_call_meta* meta) {
  if (call == nullptr) return REENACT_OK;
  const Argument<reenact_call_meta> argument(meta);
  const bool usable = argument && AreValid(argument->facts, argument->fact_count);
  static constexpr reenact_call_meta kNone{};
  return call->End(ValidEndState(end_state), usable ? *argument : kNone);
}
