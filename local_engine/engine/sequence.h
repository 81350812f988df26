// One sample of a request on its way: what is known of it, what is computed, what is answered.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_SEQUENCE_H_
#define REENACT_LOCAL_ENGINE_ENGINE_SEQUENCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/engine.h"
#include "local_engine/engine/backend.h"
#include "local_engine/engine/kv_pages.h"
#include "local_engine/engine/output_text.h"
#include "local_engine/grammar/allowed_tokens.h"
#include "local_engine/tokenizer/tokenizer.h"

namespace reenact::local_engine {

// What the samples of a request share.
struct RunningRequest {
  RequestId id = 0;
  Request request;
  std::vector<int32_t> end_tokens;  // The model's and the request's.
  Answer answer;
  int32_t unfinished = 0;                       // Samples.
  std::optional<AllowedTokens> allowed_tokens;  // Where the request has a form.
};

// Prefill, decode, replay of given tokens, scoring and recomputation are one rule: the tokens at
// [computed, target) are still to be computed, and the token at position t gets its score, and is
// sampled where it is not known, from the logits of the token before it, once.
class Sequence {
 public:
  // Both outlive it; `tokenizer` may be null.
  Sequence(RunningRequest* running, int32_t sample_index, const Tokenizer* tokenizer);

  RunningRequest& running() const { return *running_; }

  int32_t sample_index() const { return sample_index_; }

  Completion& completion() const { return running_->answer.completions[sample_index_]; }

  const std::vector<int32_t>& tokens() const { return tokens_; }

  std::span<const int32_t> pages() const { return pages_; }

  int32_t computed() const { return computed_; }

  // Tokens that have to be computed now. The last one that can be asked for never has to be: nobody
  // needs the logits after it.
  int32_t target() const;

  bool finished() const { return finished_; }

  // Whether the prompt's pages are computed, for samples that wait to share them.
  bool prompt_computed() const { return computed_ + 1 >= prompt_size_; }

  // Pages of the known beginning that the prefix cache may give: not those whose logits are needed.
  int32_t MostCachedPages() const;

  // Profile "stock": keys that the prefix cache gave this time.
  int32_t cached_keys() const { return cached_keys_; }

  // Before rows are chosen, goes where the request's schedule goes on: back, after a preemption
  // that it records. False when there is nothing to compute; where the schedule ends too early the
  // sequence ends with an error. Without a schedule, true.
  bool FollowSchedule();

  // That one step may compute: all, or what is left of a step of the schedule.
  int32_t MostRows() const;

  // The settings of the next `row_count` rows, into the record of the sample.
  void RecordSettings(int32_t row_count, const StockLoad& load);

  // Begins, or begins again, behind a prefix from the cache.
  void Start(KvPages::Prefix prefix);

  void AddPage(int32_t page) { pages_.push_back(page); }

  // The pages, which are the sequence's no more; nothing is computed then.
  std::vector<int32_t> TakePages();

  // The next `row_count` tokens as a backend takes them; valid until the sequence changes.
  StepSequence Rows(int32_t row_count) const;

  // What a step made of those rows: scores, sampled tokens, text, the end. Calls on_delta.
  // `batch_row`: the sequence's place in the step.
  void Accept(const StepSequence& rows, const SequenceOutput& output, int32_t batch_row);

  // Gives full pages that are computed to the cache.
  void PublishPages(KvPages* kv_pages);

  // Ends it without another token, with the text that was held back.
  void Finish(FinishReason reason, absl::Status status = absl::OkStatus());

  int32_t recompute_end() const { return recompute_end_; }

 private:
  int32_t OutputCount() const;
  bool MaySample(int32_t index) const;
  // Of the next token.
  DrawKey NextDraw() const;
  // Nothing where the sampler needs the whole row.
  std::optional<TokenPick> PickOfNext() const;
  // Nothing where no token can go on with the form.
  std::optional<int32_t> SampleToken(std::span<const float> logits, int32_t batch_row);
  bool FormGoesOn(int32_t token);
  // `picked`: null where the row is there.
  void ScoreToken(int32_t index, std::span<const float> logits, const PickedToken* picked);
  void AcceptOutput(int32_t index, const TokenScore* score);
  void Count(int32_t token, bool in_prompt);
  void Emit(const Delta& delta) const;

  RunningRequest* running_;
  int32_t sample_index_;
  int32_t prompt_size_;
  std::vector<int32_t> tokens_;  // Prompt, forced tokens, sampled tokens.
  int32_t next_to_score_ = 0;    // Index in tokens_.
  int32_t computed_ = 0;
  int32_t recompute_end_ = 0;  // Positions that were computed once.
  bool finished_ = false;
  int32_t cached_keys_ = 0;
  size_t schedule_step_ = 0;  // Of the request's schedule, and how much of it is computed.
  int32_t schedule_rows_ = 0;
  size_t first_step_ = 0;   // Of the record, since the sequence began the last time.
  StockSettings settings_;  // Of the rows that are computed next.
  bool has_settings_ = false;
  std::vector<int32_t> pages_;
  int32_t published_pages_ = 0;
  PrefixId published_prefix_ = 0;
  std::map<int32_t, TokenCount> counts_;  // Where a penalty asks for them.
  bool counts_tokens_ = false;
  const Tokenizer* tokenizer_;
  AllowedTokens::State form_state_ = 0;  // Of a request with a form.
  OutputText text_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_SEQUENCE_H_
