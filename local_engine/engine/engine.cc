#include "local_engine/engine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine/backend.h"
#include "local_engine/engine/check_request.h"
#include "local_engine/engine/identity.h"
#include "local_engine/engine/kv_pages.h"
#include "local_engine/engine/load_text.h"
#include "local_engine/engine/make_backend.h"
#include "local_engine/engine/scheduler.h"
#include "local_engine/engine/sequence.h"
#include "local_engine/model/load_model.h"
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

struct Engine::Parts {
  EngineOptions options;
  std::unique_ptr<const Model> model;
  ModelText text;
  EngineIdentity identity;
  EngineCounters counters;
  std::unique_ptr<Backend> backend;
  std::optional<KvPages> kv_pages;
  std::optional<Scheduler> scheduler;
  std::map<RequestId, std::unique_ptr<RunningRequest>> requests;
  RequestId last_id = 0;

  const Tokenizer* tokenizer() const {
    return text.tokenizer.has_value() ? &*text.tokenizer : nullptr;
  }

  void CountStep(std::span<const Scheduler::Piece> step);
  void HashKv(const Sequence& sequence);
  void RecordSettings(std::span<const Scheduler::Piece> step);
};

Engine::Engine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Engine::~Engine() = default;

absl::StatusOr<std::unique_ptr<Engine>> Engine::Load(const std::string& path,
                                                     const EngineOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<const Model>> model = LoadModel(path);
  if (!model.ok()) return model.status();
  absl::StatusOr<ModelText> text = LoadText(path);
  if (!text.ok()) return text.status();

  auto parts = std::make_unique<Parts>();
  Parts* p = parts.get();
  p->options = options;
  p->model = *std::move(model);
  p->text = *std::move(text);
  LoadProgress progress(*p->model, options);
  p->identity = IdentityOf(*p->model, options.profile, p->tokenizer(), p->text.template_source,
                           [&](int64_t bytes) { progress.Add(bytes); });
  p->options.max_positions = std::min(options.max_positions, p->model->config.max_positions);
  if (options.page_count == 0) {
    p->options.page_count = 4 * (p->options.max_positions / kPagePositions + 1);
  }
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(p->options, *p->model, &progress);
  if (!backend.ok()) return backend.status();
  p->backend = *std::move(backend);
  absl::Status status = p->backend->ReservePages(p->options.page_count);
  if (!status.ok()) return status;
  p->kv_pages.emplace(KvPagesOptions{.page_count = p->options.page_count,
                                     .prefix_cache = options.prefix_cache,
                                     .hash_bits = options.prefix_hash_bits},
                      &p->counters);
  const auto poison = [p](int32_t page) {
    if (p->options.poison_pages) p->backend->PoisonPage(page);
  };
  p->scheduler.emplace(SchedulerOptions{.max_sequences = options.max_sequences,
                                        .max_step_rows = options.max_step_rows,
                                        .max_chunk_rows = options.max_chunk_rows,
                                        .prefix_cache = options.prefix_cache},
                       &*p->kv_pages, &p->counters, poison);
  return std::unique_ptr<Engine>(new Engine(std::move(parts)));
}

const EngineIdentity& Engine::identity() const {
  return parts_->identity;
}

const EngineCounters& Engine::counters() const {
  return parts_->counters;
}

int32_t Engine::vocabulary_size() const {
  return parts_->model->config.vocabulary_size;
}

int32_t Engine::max_positions() const {
  const int64_t room = int64_t{parts_->options.page_count} * kPagePositions + 1;
  return static_cast<int32_t>(std::min<int64_t>(room, parts_->options.max_positions));
}

const std::vector<int32_t>& Engine::end_tokens() const {
  return parts_->model->config.end_token_ids;
}

absl::StatusOr<std::vector<int32_t>> Engine::EncodeText(std::string_view text) const {
  if (parts_->tokenizer() == nullptr) {
    return absl::FailedPreconditionError("the model has no tokenizer: it takes token ids only");
  }
  const absl::StatusOr<std::vector<uint32_t>> ids = parts_->tokenizer()->Encode(text);
  if (!ids.ok()) return ids.status();
  return std::vector<int32_t>(ids->begin(), ids->end());
}

absl::StatusOr<std::vector<int32_t>> Engine::EncodeChat(ChatTemplateInput input) const {
  if (!parts_->text.chat_template.has_value() || parts_->tokenizer() == nullptr) {
    return absl::FailedPreconditionError("the model has no chat template");
  }
  input.special_tokens = parts_->text.special_tokens;
  const absl::StatusOr<std::string> prompt = parts_->text.chat_template->Render(input);
  if (!prompt.ok()) return prompt.status();
  // The template writes the tokens that begin a text itself.
  const absl::StatusOr<std::vector<uint32_t>> ids =
      parts_->tokenizer()->Encode(*prompt, {.add_special_tokens = false});
  if (!ids.ok()) return ids.status();
  return std::vector<int32_t>(ids->begin(), ids->end());
}

std::string Engine::PieceOf(int32_t token) const {
  const Tokenizer* tokenizer = parts_->tokenizer();
  return tokenizer == nullptr || token < 0 ? "" : tokenizer->PieceOf(static_cast<uint32_t>(token));
}

std::string Engine::BytesOf(int32_t token) const {
  const Tokenizer* tokenizer = parts_->tokenizer();
  return tokenizer == nullptr || token < 0 ? "" : tokenizer->BytesOf(static_cast<uint32_t>(token));
}

absl::StatusOr<RequestId> Engine::Submit(Request request) {
  Parts& p = *parts_;
  const RequestLimits limits = {.vocabulary_size = vocabulary_size(),
                                .max_positions = max_positions(),
                                .takes_schedules = p.options.profile == Profile::kStock};
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
