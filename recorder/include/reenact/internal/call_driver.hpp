// One call of a run, from its beginning to its end, live or from the tape.

#ifndef REENACT_INTERNAL_CALL_DRIVER_HPP_
#define REENACT_INTERNAL_CALL_DRIVER_HPP_

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reenact/internal/c_values.hpp"
#include "reenact/reenact.h"
#include "reenact/result.hpp"
#include "reenact/values.hpp"

namespace reenact {

namespace internal {

// Begins the detail of a call that ended because its live code threw.
inline constexpr std::string_view kExceptionMark = "exception: ";

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
    result_.error_ = ErrorText(&reenact_call_error, call_);
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
    const std::vector<reenact_pair> facts = Pairs(sink_.facts_);
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

}  // namespace reenact

#endif  // REENACT_INTERNAL_CALL_DRIVER_HPP_
