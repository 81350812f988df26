#include "local_engine/engine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine/backend.h"
#include "local_engine/engine/check_request.h"
#include "local_engine/engine/engine_parts.h"
#include "local_engine/engine/kv_pages.h"
#include "local_engine/engine/scheduler.h"
#include "local_engine/engine/sequence.h"
#include "local_engine/numerics/fp_environment.h"

namespace reenact::local_engine {
namespace {

// 53 bits: a seed is written into JSON, and some of its readers keep no more.
uint64_t SeedOfSystem() {
  std::random_device device;
  const uint64_t high = device();
  return ((high << 32) | device()) >> 11;
}

// Where the step computed something of the prompt.
void ReportPrefill(const Sequence& sequence, int32_t first_position) {
  const Request& request = sequence.running().request;
  const auto size = static_cast<int32_t>(request.prompt.size());
  const int32_t total = request.max_tokens == 0 ? size - 1 : size;
  if (!request.on_prefill_progress || sequence.sample_index() != 0 || first_position >= total) {
    return;
  }
  request.on_prefill_progress(std::min(sequence.computed(), total), total);
}

}  // namespace

absl::StatusOr<RequestId> Engine::Submit(Request request) {
  Parts& p = *parts_;
  const RequestLimits limits = {.vocabulary_size = vocabulary_size(),
                                .max_positions = max_positions(),
                                .takes_schedules = p.options.profile == Profile::kStock,
                                .has_text = p.tokenizer() != nullptr};
  if (absl::Status status = CheckRequest(request, limits); !status.ok()) return status;

  auto running = std::make_unique<RunningRequest>();
  running->id = ++p.last_id;
  running->answer.seed_generated = !request.seed.has_value();
  const auto& generate = p.options.generate_seed;
  running->answer.seed =
      request.seed.has_value() ? *request.seed : (generate ? generate() : SeedOfSystem());
  running->end_tokens = request.stop_tokens;
  if (!request.ignore_end) {
    const std::vector<int32_t>& own = p.model->config.end_token_ids;
    running->end_tokens.insert(running->end_tokens.end(), own.begin(), own.end());
  }
  running->unfinished = request.sample_count;
  running->answer.completions.resize(static_cast<size_t>(request.sample_count));
  running->request = std::move(request);
  if (const Grammar* form = running->request.form.get(); form != nullptr) {
    running->allowed_tokens.emplace(
        *form, p.text_tokens(), p.MarkerTokens(*form),
        running->request.ignore_end ? std::vector<int32_t>() : end_tokens(), vocabulary_size());
  }
  for (int32_t i = 0; i < running->request.sample_count; ++i) {
    auto sequence = std::make_unique<Sequence>(running.get(), i, p.tokenizer());
    if (sequence->target() == 0) sequence->Finish(FinishReason::kLength);
    if (!sequence->finished()) p.scheduler->Enqueue(std::move(sequence));
  }
  const RequestId id = running->id;
  p.requests.emplace(id, std::move(running));
  return id;
}

absl::StatusOr<bool> Engine::Step() {
  Parts& p = *parts_;
  if (absl::Status status = CheckFloatingPointEnvironment(); !status.ok()) return status;
  const std::vector<Scheduler::Piece> step = p.scheduler->NextStep();
  if (step.empty()) {
    p.scheduler->Sweep();  // A schedule that ended early has ended its sequence.
    return !p.scheduler->idle();
  }
  if (p.options.profile == Profile::kStock) p.RecordSettings(step);
  std::vector<StepSequence> rows;
  for (const Scheduler::Piece& piece : step) rows.push_back(piece.sequence->Rows(piece.row_count));
  std::vector<SequenceOutput> outputs;
  p.CountStep(step);
  if (absl::Status status = p.backend->Forward(rows, &outputs); !status.ok()) return status;
  for (size_t i = 0; i < step.size(); ++i) {
    Sequence& sequence = *step[i].sequence;
    sequence.Accept(rows[i], outputs[i], static_cast<int32_t>(i));
    if (!outputs[i].status.ok()) continue;
    ReportPrefill(sequence, rows[i].first_position);
    sequence.PublishPages(&*p.kv_pages);
    if (sequence.finished() && sequence.running().request.kv_digest) p.HashKv(sequence);
  }
  p.scheduler->Sweep();
  return !p.scheduler->idle();
}

void Engine::Parts::CountStep(std::span<const Scheduler::Piece> step) {
  const auto co_resident = static_cast<int32_t>(step.size());
  int64_t decode_rows = 0;
  int64_t prefill_rows = 0;
  for (const Scheduler::Piece& piece : step) {
    Sequence& sequence = *piece.sequence;
    const int32_t pending = sequence.target() - sequence.computed();
    (pending == 1 ? decode_rows : prefill_rows) += piece.row_count;
    if (pending > piece.row_count) ++counters.chunks;
    counters.recomputed_rows +=
        std::clamp(sequence.recompute_end() - sequence.computed(), 0, piece.row_count);
    Completion& completion = sequence.completion();
    completion.most_co_resident = std::max(completion.most_co_resident, co_resident);
  }
  ++counters.steps;
  counters.rows += decode_rows + prefill_rows;
  counters.decode_rows += decode_rows;
  counters.prefill_rows += prefill_rows;
  if (decode_rows > 0 && prefill_rows > 0) ++counters.mixed_steps;
  counters.most_co_resident = std::max<int64_t>(counters.most_co_resident, co_resident);
}

// Settings of each sequence: those of its record, else what the load makes of them.
void Engine::Parts::RecordSettings(std::span<const Scheduler::Piece> step) {
  int32_t step_rows = 0;
  for (const Scheduler::Piece& piece : step) step_rows += piece.row_count;
  for (const Scheduler::Piece& piece : step) {
    piece.sequence->RecordSettings(piece.row_count,
                                   {.step_rows = step_rows,
                                    .step_sequences = static_cast<int32_t>(step.size()),
                                    .cached_keys = piece.sequence->cached_keys()});
  }
}

void Engine::Parts::HashKv(const Sequence& sequence) {
  const auto kv_dim = static_cast<size_t>(model->config.kv_head_count) *
                      static_cast<size_t>(model->config.head_dim);
  const size_t page_size = kPagePositions * kv_dim;
  const size_t size = static_cast<size_t>(sequence.computed()) * kv_dim;
  Sha256 hash;
  for (int32_t layer = 0; layer < model->config.layer_count; ++layer) {
    std::vector<float> keys(sequence.pages().size() * page_size);
    std::vector<float> values(keys.size());
    size_t at = 0;
    for (int32_t page : sequence.pages()) {
      backend->ReadPage(page, layer, std::span(keys).subspan(at, page_size),
                        std::span(values).subspan(at, page_size));
      at += page_size;
    }
    hash.UpdateValues(std::span<const float>(keys).first(size));
    hash.UpdateValues(std::span<const float>(values).first(size));
  }
  sequence.completion().kv_digest = hash.Finish();
}

absl::Status Engine::Cancel(RequestId id) {
  if (!parts_->requests.contains(id)) {
    return absl::NotFoundError("there is no request " + std::to_string(id));
  }
  for (Sequence* sequence : parts_->scheduler->SequencesOf(id)) {
    sequence->Finish(FinishReason::kCancelled);
    ++parts_->counters.cancellations;
  }
  parts_->scheduler->Sweep();
  return absl::OkStatus();
}

absl::Status Engine::Preempt(RequestId id) {
  if (!parts_->requests.contains(id)) {
    return absl::NotFoundError("there is no request " + std::to_string(id));
  }
  for (Sequence* sequence : parts_->scheduler->SequencesOf(id)) {
    parts_->scheduler->Preempt(sequence);
  }
  return absl::OkStatus();
}

bool Engine::IsFinished(RequestId id) const {
  const auto found = parts_->requests.find(id);
  return found == parts_->requests.end() || found->second->unfinished == 0;
}

absl::StatusOr<Answer> Engine::Take(RequestId id) {
  const auto found = parts_->requests.find(id);
  if (found == parts_->requests.end()) {
    return absl::NotFoundError("there is no request " + std::to_string(id));
  }
  if (found->second->unfinished > 0) {
    return absl::FailedPreconditionError("request " + std::to_string(id) + " is not finished");
  }
  Answer answer = std::move(found->second->answer);
  parts_->requests.erase(found);
  return answer;
}

absl::StatusOr<Answer> Engine::RunToEnd(RequestId id) {
  while (!IsFinished(id)) {
    if (absl::StatusOr<bool> more = Step(); !more.ok()) return more.status();
  }
  return Take(id);
}

}  // namespace reenact::local_engine
