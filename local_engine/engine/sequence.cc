#include "local_engine/engine/sequence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/engine/planted_fault.h"
#include "local_engine/engine/token_score.h"
#include "local_engine/reference/sampler.h"

namespace reenact::local_engine {

Sequence::Sequence(RunningRequest* running, int32_t sample_index, const Tokenizer* tokenizer)
    : running_(running),
      sample_index_(sample_index),
      prompt_size_(static_cast<int32_t>(running->request.prompt.size())),
      tokens_(running->request.prompt),
      tokenizer_(tokenizer),
      text_(tokenizer, running->request.prompt, running->request.stop_texts) {
  const Request& request = running->request;
  tokens_.insert(tokens_.end(), request.forced_tokens.begin(), request.forced_tokens.end());
  next_to_score_ = request.prompt_logprobs && sample_index == 0 ? 1 : prompt_size_;
  const SamplingSettings& sampling = request.sampling;
  counts_tokens_ = sampling.repetition_penalty != 1.0f || sampling.presence_penalty != 0.0f ||
                   sampling.frequency_penalty != 0.0f;
  for (int32_t token : request.prompt) Count(token, /*in_prompt=*/true);
  if (running->allowed_tokens.has_value()) form_state_ = running->allowed_tokens->start();
}

int32_t Sequence::target() const {
  const int32_t needed = prompt_size_ + running_->request.max_tokens - 1;
  return std::min(static_cast<int32_t>(tokens_.size()), needed);
}

int32_t Sequence::MostCachedPages() const {
  if (!running_->request.schedule.empty()) return 0;
  return std::max(0, std::min(next_to_score_, target()) - 1) / kPagePositions;
}

void Sequence::Start(KvPages::Prefix prefix) {
  pages_ = std::move(prefix.pages);
  published_pages_ = static_cast<int32_t>(pages_.size());
  published_prefix_ = prefix.id;
  computed_ = published_pages_ * kPagePositions;
  cached_keys_ = computed_;
  StockSchedule& record = completion().schedule;
  first_step_ = record.size();
  record.insert(record.end(), prefix.schedule.begin(), prefix.schedule.end());
  if (completion().preemptions == 0) completion().cached_positions = computed_;
}

std::vector<int32_t> Sequence::TakePages() {
  recompute_end_ = std::max(recompute_end_, computed_);
  computed_ = 0;
  schedule_step_ = 0;
  schedule_rows_ = 0;
  published_pages_ = 0;
  published_prefix_ = 0;
  if (Planted(EngineFault::kPreemptCountsTwice) && !finished_) {
    for (size_t i = static_cast<size_t>(prompt_size_); i < tokens_.size(); ++i) {
      Count(tokens_[i], /*in_prompt=*/false);
    }
  }
  return std::exchange(pages_, {});
}

bool Sequence::FollowSchedule() {
  const StockSchedule& schedule = running_->request.schedule;
  if (schedule.empty()) return true;
  if (finished_) return false;
  if (schedule_step_ < schedule.size() &&
      schedule_rows_ == schedule[schedule_step_].position_count) {
    ++schedule_step_;
    schedule_rows_ = 0;
  }
  if (schedule_step_ == schedule.size()) {
    Finish(FinishReason::kError,
           absl::FailedPreconditionError("the schedule ends before position " +
                                         std::to_string(computed_)));
    return false;
  }
  const StockStep& step = schedule[schedule_step_];
  if (step.first_position + schedule_rows_ != computed_) {
    computed_ = step.first_position + schedule_rows_;
    first_step_ = completion().schedule.size();
  }
  return true;
}

int32_t Sequence::MostRows() const {
  const StockSchedule& schedule = running_->request.schedule;
  if (schedule.empty()) return std::numeric_limits<int32_t>::max();
  return schedule[schedule_step_].position_count - schedule_rows_;
}

void Sequence::RecordSettings(int32_t row_count, const StockLoad& load) {
  const StockSchedule& schedule = running_->request.schedule;
  settings_ = schedule.empty() ? ChooseStockSettings(load) : schedule[schedule_step_].settings;
  has_settings_ = true;
  schedule_rows_ += row_count;
  AppendToSchedule({computed_, row_count, settings_}, &completion().schedule);
}

StepSequence Sequence::Rows(int32_t row_count) const {
  const int32_t end = computed_ + row_count;
  const int32_t logits_count = std::max(0, end - std::max(computed_, next_to_score_ - 1));
  const bool samples = logits_count == 1 && end == static_cast<int32_t>(tokens_.size());
  return {.pages = pages_,
          .first_position = computed_,
          .tokens = std::span(tokens_).subspan(static_cast<size_t>(computed_),
                                               static_cast<size_t>(row_count)),
          .logits_count = logits_count,
          .stock_settings = has_settings_ ? &settings_ : nullptr,
          .pick = samples ? PickOfNext() : std::nullopt};
}

DrawKey Sequence::NextDraw() const {
  return {.seed = running_->answer.seed,
          .sample_index = static_cast<uint32_t>(sample_index_),
          .position = static_cast<uint32_t>(tokens_.size())};
}

std::optional<TokenPick> Sequence::PickOfNext() const {
  const Request& request = running_->request;
  const SamplingSettings& sampling = request.sampling;
  const bool greedy = sampling.temperature == 0.0f || sampling.top_k == 1;
  const bool cuts =
      !greedy && (sampling.top_k > 0 || sampling.top_p < 1.0f || sampling.min_p > 0.0f);
  const bool rewrites =
      !request.biases.empty() || counts_tokens_ || running_->allowed_tokens.has_value();
  if (cuts || rewrites || request.top_logprobs > 0) return std::nullopt;
  return TokenPick{.temperature = greedy ? 0.0f : sampling.temperature,
                   .key = NextDraw(),
                   .logprob = request.logprobs};
}

void Sequence::Accept(const StepSequence& rows, const SequenceOutput& output, int32_t batch_row) {
  if (!output.status.ok()) {
    Finish(FinishReason::kError, output.status);
    return;
  }
  const auto row_count = static_cast<int32_t>(rows.tokens.size());
  const int32_t first_index = rows.first_position + row_count - rows.logits_count + 1;
  computed_ += row_count;
  const PickedToken* picked = output.picked.has_value() ? &*output.picked : nullptr;
  const size_t vocabulary_size =
      rows.logits_count == 0 ? 0 : output.logits.size() / static_cast<size_t>(rows.logits_count);
  for (int32_t i = 0; i < rows.logits_count && !finished_; ++i) {
    const auto logits =
        std::span(output.logits).subspan(static_cast<size_t>(i) * vocabulary_size, vocabulary_size);
    const int32_t index = first_index + i;
    if (index == static_cast<int32_t>(tokens_.size())) {
      const std::optional<int32_t> token =
          picked != nullptr ? picked->token : SampleToken(logits, batch_row);
      if (!token.has_value()) {
        return Finish(FinishReason::kError,
                      absl::FailedPreconditionError("no token goes on with the form after \"" +
                                                    completion().text + "\""));
      }
      tokens_.push_back(*token);
    }
    ScoreToken(index, logits, picked);
  }
  const bool only_scores = running_->request.max_tokens == 0;
  if (!finished_ && only_scores && computed_ >= target()) Finish(FinishReason::kLength);
}

void Sequence::PublishPages(KvPages* kv_pages) {
  // A schedule may compute a page again, which nobody else may have then.
  if (!running_->request.schedule.empty()) return;
  const int32_t early = Planted(EngineFault::kCachePublishesEarly) ? kPagePositions / 2 : 0;
  const auto known = static_cast<int32_t>(tokens_.size());
  const int32_t full = std::min(computed_ + early, known) / kPagePositions;
  for (; published_pages_ < full; ++published_pages_) {
    const auto index = static_cast<size_t>(published_pages_);
    const int32_t begin = published_pages_ * kPagePositions;
    published_prefix_ = kv_pages->Publish(
        pages_[index], published_prefix_,
        std::span(tokens_).subspan(static_cast<size_t>(begin), kPagePositions),
        PartOfSchedule(completion().schedule, first_step_, begin, begin + kPagePositions));
  }
}

void Sequence::Finish(FinishReason reason, absl::Status status) {
  finished_ = true;
  OutputText::Piece rest;
  if (completion().stop_text.empty()) {
    rest = text_.Finish(reason == FinishReason::kLength && MaySample(OutputCount()));
  }
  if (!rest.stop_text.empty()) {
    completion().stop_text = rest.stop_text;
    reason = FinishReason::kStop;
  }
  completion().text += rest.text;
  completion().finish = reason;
  completion().status = std::move(status);
  --running_->unfinished;
  Emit({.text = rest.text, .finish = reason});
}

int32_t Sequence::OutputCount() const {
  return static_cast<int32_t>(completion().tokens.size());
}

// Whether the output token at `index` (from 1) can end the sample.
bool Sequence::MaySample(int32_t index) const {
  return index >= static_cast<int32_t>(running_->request.forced_tokens.size());
}

std::optional<int32_t> Sequence::SampleToken(std::span<const float> logits, int32_t batch_row) {
  const Request& request = running_->request;
  DrawKey key = NextDraw();
  if (Planted(EngineFault::kDrawByProcessCounter)) key.position = NextOfProcess();
  if (Planted(EngineFault::kPreemptMovesDraw)) key.position += completion().preemptions;
  if (Planted(EngineFault::kDrawByBatchRow)) key.sample_index = static_cast<uint32_t>(batch_row);
  if (Planted(EngineFault::kDrawByRequest)) key.position += static_cast<uint32_t>(running_->id);
  std::vector<TokenCount> counts;
  for (const auto& [token, count] : counts_) counts.push_back(count);
  std::vector<float> row(logits.begin(), logits.end());
  if (running_->allowed_tokens.has_value()) {
    const std::vector<bool>& allowed = running_->allowed_tokens->At(form_state_);
    if (std::find(allowed.begin(), allowed.end(), true) == allowed.end()) return std::nullopt;
    for (size_t id = 0; id < row.size(); ++id) {
      if (!allowed[id]) row[id] = -std::numeric_limits<float>::infinity();
    }
  }
  return Sample(row, {request.biases, counts, request.sampling, key});
}

void Sequence::ScoreToken(int32_t index, std::span<const float> logits, const PickedToken* picked) {
  const Request& request = running_->request;
  const int32_t token = tokens_[static_cast<size_t>(index)];
  const bool of_prompt = index < prompt_size_;
  next_to_score_ = index + 1;
  std::optional<TokenScore> score;
  if (picked != nullptr && request.logprobs) {
    score = TokenScore{.chosen = {token, Logprob(picked->logit, picked->normaliser)}};
  } else if (of_prompt || request.logprobs) {
    score = ScoreOf(logits, token, request.top_logprobs);
  }
  if (of_prompt) {
    running_->answer.prompt_scores.push_back(*std::move(score));
    return;
  }
  Count(token, /*in_prompt=*/false);
  completion().tokens.push_back(token);
  if (score.has_value()) completion().scores.push_back(*score);
  AcceptOutput(index, score.has_value() ? &*score : nullptr);
}

void Sequence::AcceptOutput(int32_t index, const TokenScore* score) {
  const int32_t token = tokens_[static_cast<size_t>(index)];
  const bool may_end = MaySample(OutputCount());
  const std::vector<int32_t>& ends = running_->end_tokens;
  const bool is_end = may_end && std::find(ends.begin(), ends.end(), token) != ends.end();
  OutputText::Piece piece;
  if (!is_end) piece = text_.Push(token, may_end);
  completion().text += piece.text;
  completion().stop_text = piece.stop_text;
  Emit({.text = piece.text, .token = token, .score = score});
  if (is_end || !piece.stop_text.empty() || !FormGoesOn(token)) {
    Finish(FinishReason::kStop);
  } else if (OutputCount() == running_->request.max_tokens) {
    Finish(FinishReason::kLength);
  }
}

// Reads an output token by the form; false where the text is complete with it and cannot go on.
bool Sequence::FormGoesOn(int32_t token) {
  if (!running_->allowed_tokens.has_value()) return true;
  form_state_ = running_->allowed_tokens->After(form_state_,
                                                tokenizer_->BytesOf(static_cast<uint32_t>(token)));
  return running_->allowed_tokens->GoesOn(form_state_);
}

void Sequence::Count(int32_t token, bool in_prompt) {
  if (!counts_tokens_) return;
  TokenCount& count = counts_[token];
  count.token_id = token;
  ++(in_prompt ? count.in_prompt : count.in_output);
}

void Sequence::Emit(const Delta& delta) const {
  if (!running_->request.on_delta) return;
  Delta addressed = delta;
  addressed.request = running_->id;
  addressed.sample_index = sample_index_;
  running_->request.on_delta(addressed);
}

}  // namespace reenact::local_engine
