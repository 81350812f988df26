// reenact.hpp: the C++17 face of reenact.h. Header-only; needs neither exceptions nor RTTI.
//
// One code path serves recording and replay. Code that crosses a boundary (asks a model, calls a
// tool, searches, reads the clock, draws a random number) does it through a Run or a Scope:
//
//   reenact::Recorder recorder({.store = "/var/lib/refunds/reenact", .service = "refund-agent"});
//   recorder.OnReplay("POST /refund", HandleRefund);
//
//   reenact::Run run = recorder.StartRun({.entry = "POST /refund", .input = body, .components = {
//       reenact::PromptTemplate("refund", "v14", prompt_template),
//       reenact::ToolSchema("lookup_order", "3", schema_json)}});
//   auto today = run.Now("today");
//   std::string id = FormatId(run.Random("refund_id"));
//   reenact::Result docs = run.Retrieve("kb", query, [&] { return index.Search(query); });
//   reenact::Result order = run.CallTool("lookup_order", order_id, [&] { return Find(order_id); });
//   reenact::Result answer = run.CallModel(
//       {.provider = "openai", .endpoint = url, .request = json},
//       [&](reenact::Sink& sink) { http.Post(url, json, sink); },  // live only
//       [&](std::string_view bytes) { page.Append(bytes); });      // live and on replay
//   if (answer.diverged()) return run.Fail(answer.error());
//   run.Finish(answer.text());
//
// Without designated initialisers (C++17): reenact::RunInfo info; info.entry = "POST /refund";
//
// What to know before use:
//   - Lambdas named `live` or `transport` run when recording and when the recorder is off, and
//     never on replay. All else runs in all modes, and sees the same bytes in the same pieces.
//   - A recorder that could not be opened is off: everything still runs live. In replay mode it is
//     poisoned instead: every call diverges, nothing is live.
//   - An exception out of a live lambda ends its call as `error` and passes through. On replay of
//     such a call a ReplayedError with the same what() is thrown in its place.
//   - A consumer that returns false, or throws, stops the call: it ends as `abandoned_by_caller`.
//     Its exception leaves CallModel after the transport has returned: it never crosses C code.
//   - Threads: a Recorder, Run or Scope may be used by many threads at once. Concurrent calls
//     should each have a Scope of their own, with a key that is the same on replay: Seam::Child.
//   - Strings in structs are owned copies; arguments of type string_view are read in the call.
//   - Memory for results is the host's: bad_alloc passes through like any exception.

#ifndef REENACT_REENACT_HPP_
#define REENACT_REENACT_HPP_

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reenact/reenact.h"

namespace reenact {

// --- values -------------------------------------------------------------------------------------

enum class Mode : int32_t {
  kAuto = REENACT_MODE_AUTO,  // $REENACT_MODE where it is set, else record.
  kOff = REENACT_MODE_OFF,
  kRecord = REENACT_MODE_RECORD,
  kReplay = REENACT_MODE_REPLAY,
};

enum class EndState : int32_t {
  kComplete = REENACT_END_COMPLETE,
  kTruncated = REENACT_END_TRUNCATED,  // The peer ended the body before its own end mark.
  kReset = REENACT_END_RESET,          // The transport failed.
  kAbandonedByCaller = REENACT_END_ABANDONED_BY_CALLER,
  kProviderError = REENACT_END_PROVIDER_ERROR,
  kError = REENACT_END_ERROR,  // The host's own code failed.
  kTruncatedByLimit = REENACT_END_TRUNCATED_BY_LIMIT,
  kIncomplete = REENACT_END_INCOMPLETE,  // The recording process died first.
};

// Name and value, in order, duplicates kept.
using Headers = std::vector<std::pair<std::string, std::string>>;
using Tags = std::vector<std::pair<std::string, std::string>>;

// A versioned thing that shaped the answer. Its content is stored, not only its version.
struct Component {
  std::string kind;
  std::string name;
  std::string version;
  std::string content;
};

inline Component PromptTemplate(std::string name, std::string version, std::string content) {
  return {"prompt_template", std::move(name), std::move(version), std::move(content)};
}

// `content`: what tells one state of the index from another (a digest, a snapshot id, its list).
inline Component RetrievalIndex(std::string name, std::string version, std::string content = {}) {
  return {"retrieval_index", std::move(name), std::move(version), std::move(content)};
}

inline Component ToolSchema(std::string name, std::string version, std::string content) {
  return {"tool_schema", std::move(name), std::move(version), std::move(content)};
}

inline Component Guardrail(std::string name, std::string version, std::string content) {
  return {"guardrail", std::move(name), std::move(version), std::move(content)};
}

inline Component EvalData(std::string name, std::string version, std::string content = {}) {
  return {"eval_data", std::move(name), std::move(version), std::move(content)};
}

// `alias` is what the code asks for, `resolved` what it stood for when this was written down.
inline Component ModelAlias(std::string alias, std::string resolved, std::string content = {}) {
  return {"model_alias", std::move(alias), std::move(resolved), std::move(content)};
}

inline Component Application(std::string name, std::string version, std::string content = {}) {
  return {"application", std::move(name), std::move(version), std::move(content)};
}

// See reenact_options in reenact.h for units and defaults of the members that are 0 here.
struct Options {
  std::string store;  // Folder. Empty: $REENACT_STORE, else $XDG_DATA_HOME/reenact.
  std::string service;
  std::string service_version;
  Mode mode = Mode::kAuto;
  std::string replay_socket;  // Empty: $REENACT_REPLAY_SOCKET.
  uint64_t ring_bytes = 0;
  uint64_t body_budget_bytes = 0;
  uint64_t body_limit_bytes = 0;
  uint64_t store_cap_bytes = 0;
  uint64_t free_floor_bytes = 0;
  double run_sample_rate = 1.0;
  double logprob_rate = 0.0;
  uint32_t disabled_boundaries = 0;  // Bit 1 << REENACT_TOOL, ...
  bool require_pinned = false;
  bool keep_secrets = false;
  std::vector<std::string> secrets;  // Values that must never be stored.
  // Warnings of the library, on the thread that caused them. Must not call the recorder.
  std::function<void(std::string_view)> warn;
  std::function<int64_t()> wall_clock;  // Unix ns. Empty: the system's.
  int64_t close_deadline_ms = 1000;     // How long the destructor waits for the disk.
};

struct RunInfo {
  std::string entry;     // What starts it again: "POST /refund".
  std::string input;     // What started it.
  std::string trace_id;  // 32 hex digits, or a whole W3C traceparent.
  std::vector<Component> components;
  Tags tags;
};

struct ModelCall {
  std::string name = "chat";
  std::string provider;  // "openai"
  std::string endpoint;  // URL
  std::string request;   // The body, exactly as sent.
  Headers headers;  // Of the request, in order. Credentials among them are learned, not stored.
  uint32_t attempt = 0;  // The host's own retry number of an equal request.
};

struct IncidentInfo {
  std::string title;
  int32_t severity = 0;  // 1 worst to 4; 0 unstated.
  std::string notes;
};

// Thrown on replay where the recorded live code threw; what() is the recorded text. Only where
// exceptions are enabled.
class ReplayedError : public std::runtime_error {
 public:
  explicit ReplayedError(const std::string& what) : std::runtime_error(what) {}
};

namespace internal {

inline reenact_bytes Bytes(std::string_view text) {
  return {text.data(), text.size()};
}

inline std::string_view View(reenact_bytes bytes) {
  return bytes.data == nullptr ? std::string_view() : std::string_view(bytes.data, bytes.size);
}

inline std::vector<reenact_pair> Pairs(const Headers& headers) {
  std::vector<reenact_pair> pairs;
  pairs.reserve(headers.size());
  for (const auto& [name, value] : headers) pairs.push_back({Bytes(name), Bytes(value)});
  return pairs;
}

template <class Struct>
Struct Sized() {
  Struct value{};
  value.struct_size = sizeof(Struct);
  return value;
}

// Of the detail of a call that ended because its live code threw.
inline constexpr std::string_view kExceptionMark = "exception: ";
class CallDriver;

}  // namespace internal

// --- results ------------------------------------------------------------------------------------

// What a call gave. The same on record and on replay, except for replayed() and diverged().
class Result {
 public:
  // The answer is whole, and its status (where it has one) is 2xx.
  bool ok() const {
    return !diverged_ && end_state_ == EndState::kComplete &&
           (status_ == 0 || (status_ >= 200 && status_ < 300));
  }

  int status() const { return status_; }  // HTTP status; 0 where there is none.

  const Headers& headers() const { return headers_; }  // On replay: those that were allowed.

  const std::string& text() const { return text_; }  // The bytes of the last attempt, joined.

  EndState end_state() const { return end_state_; }

  // Why it is not whole: the detail of the end state, or the divergence. Empty when complete.
  const std::string& error() const { return error_; }

  // Replay: not on the tape. Nothing was called; text() is empty.
  bool diverged() const { return diverged_; }

  bool replayed() const { return replayed_; }

 private:
  friend class internal::CallDriver;
  friend class Sink;
  int status_ = 0;
  EndState end_state_ = EndState::kComplete;
  bool diverged_ = false;
  bool replayed_ = false;
  Headers headers_;
  std::string text_;
  std::string error_;
};

// Where a transport puts what arrives, in the pieces in which it arrives. One thread at a time.
class Sink {
 public:
  // Status and headers of an attempt, before its bytes.
  void Head(int status, const Headers& headers = {}) {
    std::vector<reenact_pair> pairs = internal::Pairs(headers);
    reenact_call_head(call_, status, pairs.data(), pairs.size());
    result_->status_ = status;
    result_->headers_ = headers;
  }

  // One read. False: the consumer wants no more; stop the transfer.
  bool Bytes(std::string_view bytes) {
    if (stopped_) return false;
    reenact_call_chunk(call_, internal::Bytes(bytes));
    return Deliver(bytes);
  }

  // This attempt failed, and the transport makes another. What the consumer got stays with it.
  void AttemptFailed(std::string_view detail) {
    reenact_call_attempt_failed(call_, internal::Bytes(detail));
    ForgetAttempt();
  }

  // How the transfer ended, where it is not complete: kTruncated, kReset, kError, ...
  void End(EndState state, std::string_view detail = {}) {
    result_->end_state_ = state;
    result_->error_.assign(detail);
  }

  // Something about the call that is worth keeping: ("cache", "hit").
  void Fact(std::string_view name, std::string_view value) { facts_.emplace_back(name, value); }

  bool stopped() const { return stopped_; }

 private:
  friend class internal::CallDriver;

  Sink(reenact_call* call, Result* result, std::function<bool(std::string_view)> consumer)
      : call_(call), result_(result), consumer_(std::move(consumer)) {}

  bool Deliver(std::string_view bytes) {
    result_->text_.append(bytes);
    if (!consumer_) return true;
#if defined(__cpp_exceptions)
    try {
      stopped_ = !consumer_(bytes);
    } catch (const std::exception&) {
      // Kept until the transport is done: it may have C frames that must not be unwound.
      consumer_exception_ = std::current_exception();
      stopped_ = true;
    } catch (...) {
      stopped_ = true;  // Among these is the unwinding of a cancelled thread, which must go on.
      throw;
    }
#else
    stopped_ = !consumer_(bytes);
#endif
    return !stopped_;
  }

  void ForgetAttempt() {
    result_->text_.clear();
    result_->headers_.clear();
    result_->status_ = 0;
  }

  reenact_call* call_;
  Result* result_;
  std::function<bool(std::string_view)> consumer_;
  bool stopped_ = false;
  Tags facts_;
#if defined(__cpp_exceptions)
  std::exception_ptr consumer_exception_;
#endif
};

// A stream of random numbers, for <random> and std::shuffle: Philox4x32-10, whose seed is recorded.
// Bits: a pure function of the seed, the same on every machine. (The distributions of <random> are
// not: they may differ between standard libraries.)
// Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
class Philox {
 public:
  using result_type = uint64_t;

  explicit Philox(uint64_t seed)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}

  static constexpr result_type min() { return 0; }

  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  result_type operator()() {
    if (word_ == 4) Refill();
    const result_type low = block_[word_];
    const result_type high = block_[word_ + 1];
    word_ += 2;
    return low | high << 32;
  }

 private:
  void Refill() {
    uint32_t x[4] = {static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32), 0, 0};
    uint32_t key[2] = {key_[0], key_[1]};
    for (int round = 0; round < 10; ++round) {
      const uint64_t product0 = uint64_t{0xD2511F53} * x[0];
      const uint64_t product1 = uint64_t{0xCD9E8D57} * x[2];
      const uint32_t next[4] = {
          static_cast<uint32_t>(product1 >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(product1),
          static_cast<uint32_t>(product0 >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(product0)};
      for (int i = 0; i < 4; ++i) x[i] = next[i];
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    for (int i = 0; i < 4; ++i) block_[i] = x[i];
    ++counter_;
    word_ = 0;
  }

  uint32_t key_[2];
  uint64_t counter_ = 0;
  uint32_t block_[4] = {};
  int word_ = 4;
};

// --- calls, inside -------------------------------------------------------------------------------

namespace internal {

// Takes one call through whichever disposition it gets, and ends it exactly once.
class CallDriver {
 public:
  CallDriver(reenact_scope* scope, const reenact_call_info& info,
             std::function<bool(std::string_view)> consumer)
      : disposition_(reenact_call_begin(scope, &info, &call_)),
        sink_(call_, &result_, std::move(consumer)) {}

  // Left without Finish: an exception passed.
  ~CallDriver() {
    if (!ended_) End(EndState::kError, "unwound");
  }

  CallDriver(const CallDriver&) = delete;
  CallDriver& operator=(const CallDriver&) = delete;

  template <class Live>
  Result Drive(Live&& live) {
    if (disposition_ == REENACT_LIVE) {
      RunLive(std::forward<Live>(live));
    } else if (disposition_ == REENACT_ON_TAPE) {
      Replay();
    } else {
      Diverge();
    }
    return Finish();
  }

 private:
  // `live` takes the sink, or nothing and returns its answer (text, or nothing).
  template <class Live>
  void Invoke(Live&& live) {
    if constexpr (std::is_invocable_v<Live&&, Sink&>) {
      if constexpr (std::is_same_v<std::invoke_result_t<Live&&, Sink&>, EndState>) {
        const EndState state = std::forward<Live>(live)(sink_);
        if (state != EndState::kComplete) result_.end_state_ = state;
      } else {
        std::forward<Live>(live)(sink_);
      }
    } else if constexpr (std::is_void_v<std::invoke_result_t<Live&&>>) {
      std::forward<Live>(live)();
    } else {
      // Held by value or by reference as the lambda returns it, while the bytes are read.
      decltype(auto) answer = std::forward<Live>(live)();
      const std::string_view bytes(answer);
      if (!bytes.empty()) sink_.Bytes(bytes);
    }
  }

  template <class Live>
  void RunLive(Live&& live) {
#if defined(__cpp_exceptions)
    try {
      Invoke(std::forward<Live>(live));
    } catch (const std::exception& error) {
      EndThrown(error.what());
      throw;
    } catch (...) {
      EndThrown("not a std::exception");
      throw;
    }
#else
    Invoke(std::forward<Live>(live));
#endif
  }

  void EndThrown(const char* what) {
    if (sink_.stopped_) {
      End(EndState::kAbandonedByCaller, {});
      return;
    }
    std::string detail(kExceptionMark);
    detail += what;
    End(EndState::kError, detail);
  }

  void Replay() {
    result_.replayed_ = true;
    result_.end_state_ = EndState::kIncomplete;
    auto item = Sized<reenact_item>();
    reenact_code code = REENACT_OK;
    while (!sink_.stopped_ && (code = reenact_call_next(call_, &item)) == REENACT_OK) Take(item);
    if (code != REENACT_OK && code != REENACT_END) Diverge();
  }

  void Take(const reenact_item& item) {
    switch (item.kind) {
      case REENACT_ITEM_HEAD:
        result_.status_ = item.status;
        result_.headers_.clear();
        for (size_t i = 0; i < item.header_count; ++i) {
          result_.headers_.emplace_back(View(item.headers[i].name), View(item.headers[i].value));
        }
        break;
      case REENACT_ITEM_BYTES:
        sink_.Deliver(View(item.bytes));
        break;
      case REENACT_ITEM_ATTEMPT_END:
        sink_.ForgetAttempt();
        break;
      case REENACT_ITEM_CALL_END:
        result_.end_state_ = static_cast<EndState>(item.end_state);
        result_.error_.assign(View(item.bytes));
        break;
      default:
        break;  // A kind of a later library: nothing that this header could hand on.
    }
  }

  void Diverge() {
    result_.diverged_ = true;
    result_.replayed_ = true;
    result_.end_state_ = EndState::kError;
    result_.text_.clear();
    result_.error_.assign(reenact_call_error(call_, nullptr, 0) + 1, '\0');
    reenact_call_error(call_, result_.error_.data(), result_.error_.size());
    result_.error_.pop_back();
  }

  Result Finish() {
    if (sink_.stopped_ && !result_.diverged_) {
      result_.end_state_ = EndState::kAbandonedByCaller;
      result_.error_.clear();
    }
    const std::string detail = result_.error_;
    End(result_.end_state_, detail);
#if defined(__cpp_exceptions)
    if (sink_.consumer_exception_) std::rethrow_exception(sink_.consumer_exception_);
    if (result_.replayed_ && !result_.diverged_ && result_.end_state_ == EndState::kError &&
        detail.compare(0, kExceptionMark.size(), kExceptionMark) == 0) {
      throw ReplayedError(detail.substr(kExceptionMark.size()));
    }
#endif
    if (result_.error_.empty() && !result_.ok() && result_.status_ != 0 &&
        result_.end_state_ == EndState::kComplete) {
      result_.error_ = "HTTP status " + std::to_string(result_.status_);
    }
    return std::move(result_);
  }

  void End(EndState state, std::string_view detail) {
    if (ended_) return;
    ended_ = true;
    auto meta = Sized<reenact_call_meta>();
    meta.detail = Bytes(detail);
    if (sink_.facts_.empty()) {
      reenact_call_end(call_, static_cast<int32_t>(state), &meta);
      return;
    }
    std::vector<reenact_pair> facts = Pairs(sink_.facts_);
    meta.facts = facts.data();
    meta.fact_count = facts.size();
    reenact_call_end(call_, static_cast<int32_t>(state), &meta);
  }

  reenact_call* call_ = nullptr;
  reenact_disposition disposition_;
  Result result_;
  Sink sink_;
  bool ended_ = false;
};

// A consumer that returns bool says whether it wants more; any other always does.
template <class Consumer>
std::function<bool(std::string_view)> AsConsumer(Consumer&& consumer) {
  using Answer = std::invoke_result_t<Consumer&, std::string_view>;
  if constexpr (std::is_same_v<Answer, bool>) {
    return [&consumer](std::string_view bytes) { return consumer(bytes); };
  } else {
    return [&consumer](std::string_view bytes) {
      consumer(bytes);
      return true;
    };
  }
}

}  // namespace internal

// --- runs and scopes
// -------------------------------------------------------------------------------

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
    auto info = internal::Sized<reenact_component>();
    info.kind = internal::Bytes(component.kind);
    info.name = internal::Bytes(component.name);
    info.version = internal::Bytes(component.version);
    info.content = internal::Bytes(component.content);
    reenact_add_component(scope_, &info);
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
    const std::vector<reenact_pair> headers = internal::Pairs(call.headers);
    auto info = internal::Sized<reenact_call_info>();
    info.boundary = REENACT_MODEL;
    info.name = internal::Bytes(call.name);
    info.provider = internal::Bytes(call.provider);
    info.endpoint = internal::Bytes(call.endpoint);
    info.request = internal::Bytes(call.request);
    info.headers = headers.data();
    info.header_count = headers.size();
    info.attempt = call.attempt;
    return internal::CallDriver(scope_, info, std::move(consumer))
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

// --- recorder ------------------------------------------------------------------------------------

// One per service, made early and closed late; movable. Never throws for reasons of recording: see
// code() and error() for why it is off.
class Recorder {
 public:
  // A recorder that is off.
  Recorder() = default;

  explicit Recorder(const Options& options)
      : callbacks_(std::make_unique<Callbacks>()), close_deadline_ms_(options.close_deadline_ms) {
    callbacks_->warn = options.warn;
    callbacks_->wall_clock = options.wall_clock;
    std::vector<reenact_bytes> secrets;
    for (const std::string& secret : options.secrets) secrets.push_back(internal::Bytes(secret));
    auto c = internal::Sized<reenact_options>();
    c.store = internal::Bytes(options.store);
    c.service = internal::Bytes(options.service);
    c.service_version = internal::Bytes(options.service_version);
    c.mode = static_cast<int32_t>(options.mode);
    c.replay_socket = internal::Bytes(options.replay_socket);
    c.ring_bytes = options.ring_bytes;
    c.body_budget_bytes = options.body_budget_bytes;
    c.body_limit_bytes = options.body_limit_bytes;
    c.store_cap_bytes = options.store_cap_bytes;
    c.free_floor_bytes = options.free_floor_bytes;
    c.run_sample_rate = options.run_sample_rate;
    c.logprob_rate = options.logprob_rate;
    c.disabled_boundaries = options.disabled_boundaries;
    c.require_pinned = options.require_pinned ? 1 : 0;
    c.keep_secrets = options.keep_secrets ? 1 : 0;
    c.secrets = secrets.data();
    c.secret_count = secrets.size();
    if (callbacks_->warn) c.warn = &Callbacks::Warn;
    if (callbacks_->wall_clock) c.wall_clock = &Callbacks::WallClock;
    c.user = callbacks_.get();
    code_ = reenact_open(&c, &recorder_);
    if (code_ != REENACT_OK) open_error_ = Message(recorder_);
  }

  ~Recorder() { Close(close_deadline_ms_); }

  Recorder(Recorder&& other) noexcept
      : recorder_(std::exchange(other.recorder_, nullptr)),
        code_(other.code_),
        open_error_(std::move(other.open_error_)),
        callbacks_(std::move(other.callbacks_)),
        close_deadline_ms_(other.close_deadline_ms_) {}

  Recorder& operator=(Recorder&& other) noexcept {
    if (this != &other) {
      Close(close_deadline_ms_);
      recorder_ = std::exchange(other.recorder_, nullptr);
      code_ = other.code_;
      open_error_ = std::move(other.open_error_);
      callbacks_ = std::move(other.callbacks_);
      close_deadline_ms_ = other.close_deadline_ms_;
    }
    return *this;
  }

  // REENACT_OK, or why opening failed.
  reenact_code code() const { return code_; }

  // The sentence that goes with it, or the last error of a recorder that is open.
  std::string error() const { return recorder_ == nullptr ? open_error_ : Message(recorder_); }

  bool on() const { return recorder_ != nullptr; }

  Run StartRun(const RunInfo& info) {
    std::vector<reenact_component> components;
    components.reserve(info.components.size());
    for (const Component& component : info.components) {
      auto c = internal::Sized<reenact_component>();
      c.kind = internal::Bytes(component.kind);
      c.name = internal::Bytes(component.name);
      c.version = internal::Bytes(component.version);
      c.content = internal::Bytes(component.content);
      components.push_back(c);
    }
    const std::vector<reenact_pair> tags = internal::Pairs(info.tags);
    auto c = internal::Sized<reenact_run_info>();
    c.entry = internal::Bytes(info.entry);
    c.input = internal::Bytes(info.input);
    c.trace_id = internal::Bytes(info.trace_id);
    c.components = components.data();
    c.component_count = components.size();
    c.tags = tags.data();
    c.tag_count = tags.size();
    reenact_scope* run = nullptr;
    reenact_run_begin(recorder_, &c, &run);
    return Run(run);
  }

  // Registers what starts a run of this entry again; it should do what the real entry does. In
  // replay mode it is called once with the recorded input, on a thread of the library: register
  // last, when the program is ready. An exception out of it is swallowed; the run ends as `error`
  // by itself.
  reenact_code OnReplay(std::string_view entry, std::function<void(std::string_view)> handler) {
    if (recorder_ == nullptr) return REENACT_OK;
    callbacks_->handlers.push_back(std::make_unique<Handler>(std::move(handler)));
    return reenact_on_replay(recorder_, internal::Bytes(entry), &Callbacks::Replay,
                             callbacks_->handlers.back().get());
  }

  // The kill switch: false stops recording of runs that begin from now on. No effect on replay.
  void SetEnabled(bool enabled) { reenact_set_enabled(recorder_, enabled ? 1 : 0); }

  reenact_code Flush(int64_t deadline_ms) { return reenact_flush(recorder_, deadline_ms); }

  // Afterwards the recorder is off. Runs that are still open may go on: their calls stay live and
  // are counted as dropped.
  reenact_code Close(int64_t deadline_ms) {
    return reenact_close(std::exchange(recorder_, nullptr), deadline_ms);
  }

  reenact_metrics metrics() const {
    auto metrics = internal::Sized<reenact_metrics>();
    reenact_get_metrics(recorder_, &metrics);
    return metrics;
  }

  reenact_recorder* handle() const { return recorder_; }

 private:
  using Handler = std::function<void(std::string_view)>;

  // At a fixed address, because the library keeps a pointer to it until it is closed.
  struct Callbacks {
    std::function<void(std::string_view)> warn;
    std::function<int64_t()> wall_clock;
    std::vector<std::unique_ptr<Handler>> handlers;

    static void Warn(void* user, reenact_bytes message) {
      Guarded([&] { static_cast<Callbacks*>(user)->warn(internal::View(message)); });
    }

    static int64_t WallClock(void* user) {
      int64_t unix_ns = 0;
      Guarded([&] { unix_ns = static_cast<Callbacks*>(user)->wall_clock(); });
      return unix_ns;
    }

    static void Replay(void* user, reenact_bytes input) {
      Guarded([&] { (*static_cast<Handler*>(user))(internal::View(input)); });
    }

    // Nothing of the host's may unwind through the library.
    template <class Function>
    static void Guarded(Function&& function) {
#if defined(__cpp_exceptions)
      try {
        function();
      } catch (...) {
      }
#else
      function();
#endif
    }
  };

  static std::string Message(reenact_recorder* recorder) {
    std::string text(reenact_error(recorder, nullptr, 0) + 1, '\0');
    const size_t size = reenact_error(recorder, text.data(), text.size());
    text.resize(size < text.size() ? size : text.size() - 1);
    return text;
  }

  reenact_recorder* recorder_ = nullptr;
  reenact_code code_ = REENACT_OK;
  std::string open_error_;
  std::unique_ptr<Callbacks> callbacks_;
  int64_t close_deadline_ms_ = 1000;
};

}  // namespace reenact

#endif  // REENACT_REENACT_HPP_
