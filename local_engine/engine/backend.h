// What computes a model for the engine: one step over rows of tokens against a paged KV cache. The
// engine decides what runs together; a backend only computes, and gives every row the bits that it
// has alone. No choice of kernel, tile or split may read how many rows or sequences a step has.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_BACKEND_H_
#define REENACT_LOCAL_ENGINE_ENGINE_BACKEND_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/engine/stock_schedule.h"
#include "local_engine/model/load_model.h"
#include "local_engine/numerics/philox.h"
#include "local_engine/reference/logprob.h"

namespace reenact::local_engine {

// Positions of one KV page: a sub-block of attention, so that none crosses a page.
inline constexpr int32_t kPagePositions = 32;

// A choice that a backend may make where the logits are: that of reference/sampler.h without bias,
// penalties and cuts.
struct TokenPick {
  float temperature = 0;  // 0: the most probable token, no draw.
  DrawKey key;
  bool logprob = false;  // Whether the token's logprob will be asked for.
};

struct PickedToken {
  int32_t token = 0;
  float logit = 0;
  LogNormaliser normaliser;  // Where TokenPick::logprob asked.
};

// The adjoining tokens of one sequence that a step computes.
struct StepSequence {
  // Page i holds the positions [32 i, 32 (i + 1)); they reach to the last token at least. Pages
  // before that of the first token may be shared with other sequences and are only read.
  std::span<const int32_t> pages;
  int32_t first_position = 0;  // Of tokens[0]. The positions before it are in the pages.
  std::span<const int32_t> tokens;
  int32_t logits_count = 0;  // The last so many tokens want logits.
  // Of profile "stock" alone, which asks for them; null in n1, where bits obey no setting.
  const StockSettings* stock_settings = nullptr;
  // Of the one row of logits that is wanted, which nobody else needs then.
  std::optional<TokenPick> pick;
};

struct SequenceOutput {
  // Not OK: what is not finite, as in forward.h; the other sequences of the step are unharmed.
  absl::Status status;
  std::vector<float> logits;  // [logits_count][vocabulary_size]
  // In place of logits, from backends that follow StepSequence::pick; others leave it out.
  std::optional<PickedToken> picked;
};

// One thread at a time. How a page's keys and values lie in memory is the backend's own business.
class Backend {
 public:
  virtual ~Backend() = default;

  // Memory for pages 0 ... page_count - 1, contents unspecified. Called once, first.
  // ResourceExhausted when there is not that much.
  virtual absl::Status ReservePages(int32_t page_count) = 0;

  // Keys and values of each token are rounded to the cache type and stored before anything reads
  // them, and are always read from the pages. (*outputs)[i] belongs to sequences[i].
  // Errors: FailedPrecondition for a floating-point mode that is wrong. What one sequence did wrong
  // is in its output.
  virtual absl::Status Forward(std::span<const StepSequence> sequences,
                               std::vector<SequenceOutput>* outputs) = 0;

  // The keys and values of one page and layer, widened; both [32][kv_head_count * head_dim].
  virtual void ReadPage(int32_t page, int32_t layer, std::span<float> keys,
                        std::span<float> values) const = 0;

  // Fills a page with NaN, so that a read of what nobody wrote is found.
  virtual void PoisonPage(int32_t page) = 0;
};

// The definition of profile n1 as a backend: a token at a time, one thread. `model` outlives it.
// cpu_backend.h has the fast one.
std::unique_ptr<Backend> MakeReferenceBackend(const Model& model, int32_t max_positions);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_BACKEND_H_
