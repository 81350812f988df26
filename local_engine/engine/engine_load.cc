// An engine from a model's files, and what can be asked of it without a request.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine.h"
#include "local_engine/engine/engine_parts.h"
#include "local_engine/engine/identity.h"
#include "local_engine/engine/make_backend.h"
#include "local_engine/numerics/sha256.h"
#include "local_engine/weights/digest_cache.h"
#include "local_engine/weights/mapped_file.h"
#include "local_engine/weights/tensor_set.h"

namespace reenact::local_engine {
namespace {

// From the cache where it has it, else of every byte; those do not stay in the process's memory.
Sha256Digest DigestOfWeights(const TensorSet& tensors, const EngineOptions& options,
                             LoadProgress* progress) {
  const DigestCache cache(options.digest_cache);
  if (!options.verify_weights) {
    if (const std::optional<Sha256Digest> known = cache.Find(tensors)) {
      for (const auto& [name, tensor] : tensors.tensors()) {
        progress->Add(static_cast<int64_t>(tensor.size_bytes));
      }
      return *known;
    }
  }
  const Sha256Digest digest = DigestOf(tensors, [progress](std::span<const std::byte> bytes) {
                                GiveBackPages(bytes);
                                progress->Add(std::ssize(bytes));
                              }).root;
  cache.Keep(tensors, digest);
  return digest;
}

}  // namespace

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
  p->options.max_positions = std::min(options.max_positions, p->model->config.max_positions);
  if (options.page_count == 0) {
    p->options.page_count = 4 * (p->options.max_positions / kPagePositions + 1);
  }
  absl::StatusOr<EngineDevice> device = ChooseEngineDevice(p->options, *p->model);
  if (!device.ok()) return device.status();
  p->device = *std::move(device);
  p->options.backend = p->device.backend;
  LoadProgress progress(*p->model, p->options);
  const Sha256Digest weights = DigestOfWeights(p->model->tensors, options, &progress);
  p->identity =
      IdentityOf(*p->model, weights, options.profile, p->tokenizer(), p->text.template_source);
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

const EngineDevice& Engine::device() const {
  return parts_->device;
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

const std::string& Engine::chat_template() const {
  return parts_->text.template_source;
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

const TextTokens& Engine::Parts::text_tokens() {
  if (sorted_text_tokens.has_value()) return *sorted_text_tokens;
  const auto count =
      std::min(static_cast<uint32_t>(model->config.vocabulary_size), text.tokenizer->id_end());
  const std::vector<int32_t>& ends = model->config.end_token_ids;
  std::vector<TextTokens::Token> tokens;
  for (uint32_t id = 0; id < count; ++id) {
    const auto token = static_cast<int32_t>(id);
    if (text.tokenizer->IsSpecial(id) || std::find(ends.begin(), ends.end(), token) != ends.end()) {
      continue;
    }
    std::string bytes = text.tokenizer->BytesOf(id);
    if (!bytes.empty()) tokens.push_back({token, std::move(bytes)});
  }
  return sorted_text_tokens.emplace(std::move(tokens));
}

std::vector<TextTokens::Token> Engine::Parts::MarkerTokens(const Grammar& form) const {
  std::vector<TextTokens::Token> markers;
  for (const std::string& name : form.markers()) {
    const std::optional<uint32_t> id = text.tokenizer->Find(name);
    if (id.has_value() && text.tokenizer->IsSpecial(*id)) {
      markers.push_back({static_cast<int32_t>(*id), name});
    }
  }
  return markers;
}

}  // namespace reenact::local_engine
