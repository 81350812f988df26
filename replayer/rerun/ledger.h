// What asking again cost, and how much it may cost: every rerun and every diagnosis states it.

#ifndef REENACT_REPLAYER_RERUN_LEDGER_H_
#define REENACT_REPLAYER_RERUN_LEDGER_H_

#include <cstdint>
#include <mutex>
#include <optional>

namespace reenact::rerun {

struct Cost {
  int64_t requests = 0;           // That were sent, retries included.
  int64_t retries = 0;            // Of them.
  int64_t prompt_tokens = 0;      // As the target counted them; 0 where it did not.
  int64_t completion_tokens = 0;  // The same.
  int64_t uncounted_answers = 0;  // Whose tokens the target did not count.
  double busy_seconds = 0;        // Summed over requests: more than the clock's where they overlap.
  double waited_seconds = 0;      // Before retries, because the target asked for it or had failed.

  int64_t tokens() const { return prompt_tokens + completion_tokens; }

  Cost& operator+=(const Cost& other);
};

struct Budget {
  std::optional<int64_t> max_requests;  // Retries count.
  std::optional<int64_t> max_tokens;    // Of prompts and answers together.
};

// Threads: all functions may be called from any thread.
class Ledger {
 public:
  explicit Ledger(Budget budget = {}) : budget_(budget) {}

  // Takes one request out of the budget; false: nothing may be sent any more. No request is sent
  // beyond max_requests. Tokens are known only when an answer is there, so that those that are on
  // their way when max_tokens is reached are paid for all the same.
  bool TakeRequest(bool is_retry);
  // Adds all of it but the requests and retries, which TakeRequest has counted.
  void Add(const Cost& cost);

  Cost total() const;
  // Whether a request was refused because of the budget.
  bool ran_out() const;

 private:
  const Budget budget_;
  mutable std::mutex mutex_;
  Cost total_;
  bool ran_out_ = false;
};

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_LEDGER_H_
