// Whom a rerun asks: a hosted API, a server at a URL, or the local engine. All of them are asked in
// the dialect of the recorded call, and what comes back is read by the one view that reads records
// (schema/model_view.h), so that a recorded answer and a new one are compared like with like.
//
// Nothing is assumed of a target: what it can give is what its answers have shown.
//
//   Ledger ledger({.max_requests = 100});
//   absl::StatusOr<std::unique_ptr<Target>> target = MakeHttpTarget({.base_url = url}, &ledger);
//   const Sample sample = (*target)->Ask(QuestionOf(recorded_event, {.logprobs = true}));
//   if (sample.answered()) ... sample.view.choices ...

#ifndef REENACT_REPLAYER_RERUN_TARGET_H_
#define REENACT_REPLAYER_RERUN_TARGET_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/rerun/ledger.h"
#include "replayer/rerun/question.h"
#include "schema/model_view.h"
#include "schema/record.h"

namespace reenact::rerun {

// What came of one question. Only kAnswered enters a sample of a statistic; every other one is
// counted under its name, and is never a number.
enum class SampleStatus : uint8_t {
  kAnswered,
  kTruncated,    // The answer stopped before its end mark.
  kRefused,      // 4xx but 429: the request is not one that this target takes.
  kRateLimited,  // 429, as often as it was tried.
  kServerError,  // 5xx as often as it was tried, or an error inside a 200.
  kNoAnswer,     // What came is no model's answer: HTML, an empty body, no choices.
  kUnreachable,  // No connection, or one that broke before an answer began.
  kTimedOut,     // Began or not, it took too long.
  kOverBudget,   // Not sent.
  kInterrupted,  // By the user.
  kUnsupported,  // Not sent: the target does not speak the call's dialect.
  kRepeated,     // The response id of an earlier answer: a cache spoke, and not the model.
};
std::string_view ToString(SampleStatus status);  // "rate_limited"

struct Sample {
  SampleStatus status = SampleStatus::kNoAnswer;
  std::string detail;  // "HTTP 404: model_not_found", "text/html"; empty where it was answered.
  // The call as a recorder would have kept it; of retries the last attempt only. Without an
  // exchange where nothing was sent. Holds no key.
  schema::Event event;
  schema::ModelView view;  // Of `event`.
  Cost cost;               // Of this question, retries included.

  bool answered() const { return status == SampleStatus::kAnswered; }
};

// What is known of an ability.
enum class Ability : uint8_t {
  kUnknown,  // No answer has told so far.
  kShown,    // An answer had it.
  kAbsent,   // It was asked for, and an answer did not have it.
};
std::string_view ToString(Ability ability);  // "shown"

struct Abilities {
  Ability logprobs = Ability::kUnknown;
  Ability token_ids = Ability::kUnknown;
  Ability fingerprint = Ability::kUnknown;
  Ability forced_tokens = Ability::kUnknown;
  // A seed is a claim about several answers: see FindBrokenPromises in rerun_report.h.
};

// The logprobs that a target gives to tokens that it is made to say.
struct ForcedScores {
  SampleStatus status = SampleStatus::kUnsupported;
  std::string detail;
  std::vector<schema::TokenLogprob> tokens;  // One for each forced token, in order.
};

// Threads: all functions may be called from any thread, Ask many times at once.
class Target {
 public:
  virtual ~Target() = default;

  // "api https://api.openai.com/v1", "local n1-0123456789abcdef": for reports, without secrets.
  virtual std::string Name() const = 0;

  // Asks, waits for the whole answer, and retries what can be retried. Never throws and never
  // fails: what went wrong is the sample's status.
  virtual Sample Ask(const Question& question) = 0;

  // Forces `answer` after `prompt`, both token ids of the target's own vocabulary. kUnsupported
  // where the target offers no such thing.
  virtual ForcedScores Force(const Question& question, std::span<const int64_t> prompt,
                             std::span<const int64_t> answer);

  virtual Abilities abilities() const = 0;

  // Whether its answers are a function of the request alone, by construction: the local engine in
  // profile n1. Of all others that is what is to be found out.
  virtual bool is_invariant() const { return false; }
};

// For those who write targets. Reads what came into `sample->event`: its view, its tokens, and
// whether it is an answer.
void ReadAnswer(Sample* sample);
// What an answer shows of its target.
void LearnAbilities(const Question& question, const schema::ModelView& view, Abilities* abilities);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_TARGET_H_
