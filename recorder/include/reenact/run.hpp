// A run and its scopes: the places where a program meets what it could not have known by itself.

#ifndef REENACT_RUN_HPP_
#define REENACT_RUN_HPP_

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reenact/internal/c_values.hpp"
#include "reenact/internal/call_driver.hpp"
#include "reenact/philox.hpp"
#include "reenact/reenact.h"
#include "reenact/result.hpp"
#include "reenact/values.hpp"

namespace reenact {

class Scope;

// What a Run and a Scope have in common: the places where the outside gets in. Functions that take
// `Seam&` work with either.
class Seam {
 public:
  Seam(const Seam&) = delete;
  Seam& operator=(const Seam&) = delete;

  // A part of the run whose calls are addressed apart from its siblings'. Give concurrent work a
  // scope each, with a key that is the same on replay: a tool call's id, an index.
  Scope Child(std::string_view key);

  // The wall clock; on replay the recorded readings of this name, in order.
  std::chrono::system_clock::time_point Now(std::string_view name) {
    int64_t unix_ns = 0;
    reenact_now(scope_, internal::Bytes(name), &unix_ns);
    return std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::chrono::nanoseconds(unix_ns)));
  }

  // Sleeps; on replay returns at once. For back-off.
  void Sleep(std::chrono::nanoseconds duration) { reenact_sleep(scope_, duration.count()); }

  // A generator with a recorded seed; on replay the same stream.
  Philox Random(std::string_view name) {
    uint64_t seed = 0;
    reenact_random_seed(scope_, internal::Bytes(name), &seed);
    return Philox(seed);
  }

  // Whether the sampling policy says that this model call should ask for logprobs. Recorded.
  bool WantLogprobs(std::string_view name = "logprobs") {
    int32_t want = 0;
    reenact_want_logprobs(scope_, internal::Bytes(name), &want);
    return want != 0;
  }

  // `live` returns the answer as text (std::string, string_view, const char*; void: an empty one),
  // or takes a Sink& and pushes it there; then it can also say how it failed: sink.End(...).
  template <class Live>
  Result CallTool(std::string_view name, std::string_view arguments, Live&& live) {
    return Call(REENACT_TOOL, name, arguments, std::forward<Live>(live));
  }

  template <class Live>
  Result Retrieve(std::string_view name, std::string_view query, Live&& live) {
    return Call(REENACT_RETRIEVAL, name, query, std::forward<Live>(live));
  }

  // `transport(Sink&)` makes the request and pushes status, headers and bytes; it may return an
  // EndState. `consumer(std::string_view)` gets each piece, live and on replay; it may return false
  // to stop. Retries inside the transport are attempts of this one call: Sink::AttemptFailed.
  template <class Transport, class Consumer>
  Result CallModel(const ModelCall& call, Transport&& transport, Consumer&& consumer) {
    return AskModel(call, std::forward<Transport>(transport), internal::AsConsumer(consumer));
  }

  template <class Transport>
  Result CallModel(const ModelCall& call, Transport&& transport) {
    return AskModel(call, std::forward<Transport>(transport), nullptr);
  }

  void AddComponent(const Component& component) {
    const reenact_component c = internal::AsC(component);
    reenact_add_component(scope_, &c);
  }

  // The content to go on with, of a component that the run declares: `own` has it, and a replay may
  // have been given another (`reenact replay --override component:NAME=...`).
  std::string ContentOf(const Component& own) {
    const reenact_component c = internal::AsC(own);
    reenact_bytes content = c.content;
    reenact_component_content(scope_, &c, &content);
    return std::string(internal::View(content));
  }

  void Tag(std::string_view name, std::string_view value) {
    reenact_tag(scope_, internal::Bytes(name), internal::Bytes(value));
  }

  // Says that this run went wrong. On replay nothing happens.
  void MarkIncident(const IncidentInfo& incident) {
    auto info = internal::Sized<reenact_incident_info>();
    info.title = internal::Bytes(incident.title);
    info.notes = internal::Bytes(incident.notes);
    info.severity = incident.severity;
    reenact_incident(scope_, &info);
  }

  // The ULID of the run; empty when nothing is recorded.
  std::string run_id() const {
    char id[27] = {};
    reenact_run_id(scope_, id);
    return id;
  }

  // For reenact.h and reenact_curl.hpp. Null: off.
  reenact_scope* handle() const { return scope_; }

 protected:
  explicit Seam(reenact_scope* scope) : scope_(scope) {}

  ~Seam() = default;

  reenact_scope* Release() { return std::exchange(scope_, nullptr); }

  void Reset(reenact_scope* scope) { scope_ = scope; }

 private:
  template <class Live>
  Result Call(int32_t boundary, std::string_view name, std::string_view request, Live&& live) {
    auto info = internal::Sized<reenact_call_info>();
    info.boundary = boundary;
    info.name = internal::Bytes(name);
    info.request = internal::Bytes(request);
    return internal::CallDriver(scope_, info, nullptr).Drive(std::forward<Live>(live));
  }

  template <class Transport>
  Result AskModel(const ModelCall& call, Transport&& transport,
                  std::function<bool(std::string_view)> consumer) {
    static_assert(std::is_invocable_v<Transport&&, Sink&>, "transport(reenact::Sink&)");
    const internal::ModelCallInfo c(call);
    return internal::CallDriver(scope_, c.info(), std::move(consumer))
        .Drive(std::forward<Transport>(transport));
  }

  reenact_scope* scope_;
};

// Ends with the object; must not outlive its run.
class Scope : public Seam {
 public:
  ~Scope() { reenact_scope_end(Release()); }

  Scope(Scope&& other) noexcept : Seam(other.Release()) {}

  Scope& operator=(Scope&& other) noexcept {
    if (this != &other) {
      reenact_scope_end(Release());
      Reset(other.Release());
    }
    return *this;
  }

 private:
  friend class Seam;

  explicit Scope(reenact_scope* scope) : Seam(scope) {}
};

inline Scope Seam::Child(std::string_view key) {
  reenact_scope* child = nullptr;
  reenact_scope_begin(scope_, internal::Bytes(key), &child);
  return Scope(child);
}

// One execution of a unit of work. End it with Finish or Fail; a run that is only destroyed ends as
// `error` when an exception is passing, else as `abandoned_by_caller`.
class Run : public Seam {
 public:
  // A run that is off.
  Run() : Seam(nullptr) {}

  ~Run() { EndUnfinished(); }

  Run(Run&& other) noexcept
      : Seam(other.Release()), exceptions_at_start_(other.exceptions_at_start_) {}

  Run& operator=(Run&& other) noexcept {
    if (this != &other) {
      EndUnfinished();
      Reset(other.Release());
      exceptions_at_start_ = other.exceptions_at_start_;
    }
    return *this;
  }

  // `output`: what the run answered to whoever started it. Compared on replay.
  void Finish(std::string_view output = {}) { End(EndState::kComplete, {}, output); }

  void Fail(std::string_view detail, std::string_view output = {}) {
    End(EndState::kError, detail, output);
  }

  bool finished() const { return handle() == nullptr; }

 private:
  friend class Recorder;

  explicit Run(reenact_scope* scope) : Seam(scope) {}

  void End(EndState state, std::string_view detail, std::string_view output) {
    reenact_run_end(Release(), static_cast<int32_t>(state), internal::Bytes(detail),
                    internal::Bytes(output));
  }

  void EndUnfinished() {
    if (handle() == nullptr) return;
    if (std::uncaught_exceptions() > exceptions_at_start_) {
      End(EndState::kError, "an exception passed", {});
    } else {
      End(EndState::kAbandonedByCaller, "not finished", {});
    }
  }

  int exceptions_at_start_ = std::uncaught_exceptions();
};

}  // namespace reenact

#endif  // REENACT_RUN_HPP_
