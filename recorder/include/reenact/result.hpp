// What a call gives back, and where its transport puts the answer as it arrives.

#ifndef REENACT_RESULT_HPP_
#define REENACT_RESULT_HPP_

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reenact/internal/c_values.hpp"
#include "reenact/reenact.h"
#include "reenact/values.hpp"

namespace reenact {

namespace internal {
class CallDriver;
}

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

// Thrown on replay where the recorded live code threw; what() is the recorded text. Only where
// exceptions are enabled.
class ReplayedError : public std::runtime_error {
 public:
  explicit ReplayedError(const std::string& what) : std::runtime_error(what) {}
};

}  // namespace reenact

#endif  // REENACT_RESULT_HPP_
