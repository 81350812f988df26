#include "replayer/rerun/ledger.h"

namespace reenact::rerun {

Cost& Cost::operator+=(const Cost& other) {
  requests += other.requests;
  retries += other.retries;
  prompt_tokens += other.prompt_tokens;
  completion_tokens += other.completion_tokens;
  uncounted_answers += other.uncounted_answers;
  busy_seconds += other.busy_seconds;
  waited_seconds += other.waited_seconds;
  return *this;
}

bool Ledger::TakeRequest(bool is_retry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if ((budget_.max_requests && total_.requests >= *budget_.max_requests) ||
      (budget_.max_tokens && total_.tokens() >= *budget_.max_tokens)) {
    ran_out_ = true;
    return false;
  }
  ++total_.requests;
  if (is_retry) ++total_.retries;
  return true;
}

void Ledger::Add(const Cost& cost) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Cost counted = cost;
  counted.requests = 0;
  counted.retries = 0;
  total_ += counted;
}

Cost Ledger::total() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return total_;
}

bool Ledger::ran_out() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ran_out_;
}

}  // namespace reenact::rerun
