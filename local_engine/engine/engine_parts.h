// What an engine is made of.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_ENGINE_PARTS_H_
#define REENACT_LOCAL_ENGINE_ENGINE_ENGINE_PARTS_H_

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "local_engine/engine.h"
#include "local_engine/engine/backend.h"
#include "local_engine/engine/kv_pages.h"
#include "local_engine/engine/load_text.h"
#include "local_engine/engine/scheduler.h"
#include "local_engine/engine/sequence.h"
#include "local_engine/grammar/allowed_tokens.h"
#include "local_engine/model/load_model.h"

namespace reenact::local_engine {

struct Engine::Parts {
  EngineOptions options;
  std::unique_ptr<const Model> model;
  ModelText text;
  EngineIdentity identity;
  EngineDevice device;
  EngineCounters counters;
  std::unique_ptr<Backend> backend;
  std::optional<KvPages> kv_pages;
  std::optional<Scheduler> scheduler;
  std::map<RequestId, std::unique_ptr<RunningRequest>> requests;
  RequestId last_id = 0;
  std::optional<TextTokens> sorted_text_tokens;

  const Tokenizer* tokenizer() const {
    return text.tokenizer.has_value() ? &*text.tokenizer : nullptr;
  }

  // The tokens that are text, sorted when a form first asks for them.
  const TextTokens& text_tokens();
  std::vector<TextTokens::Token> MarkerTokens(const Grammar& form) const;

  void CountStep(std::span<const Scheduler::Piece> step);
  void HashKv(const Sequence& sequence);
  void RecordSettings(std::span<const Scheduler::Piece> step);
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_ENGINE_PARTS_H_
