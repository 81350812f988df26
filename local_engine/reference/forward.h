// The forward pass of every supported architecture, a token at a time, in scalar code: what each
// faster path of the engine must equal, bit for bit.

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_FORWARD_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_FORWARD_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/model/load_model.h"
#include "local_engine/numerics/sha256.h"
#include "local_engine/reference/attention.h"
#include "local_engine/reference/rope.h"

namespace reenact::local_engine {

// Where a pass keeps the keys and values of one sequence, and reads them back.
class KvStore {
 public:
  virtual ~KvStore() = default;

  // Stores the rows of one position [kv_head_count * head_dim], which are rounded to the cache type
  // already. A layer's positions come in increasing order.
  virtual void Append(int32_t layer, int32_t position, std::span<const float> keys,
                      std::span<const float> values) = 0;

  // The rows of positions [0, end), those of KV head 0 first; valid until the next call.
  virtual KvRows Rows(int32_t layer, int32_t end) = 0;
};

// The keys and values of one sequence, rounded to the model's cache type and widened again: exactly
// what a cache of that type gives back.
struct ReferenceCache final : KvStore {
  int32_t length = 0;  // Positions that are filled.

  struct Layer {
    std::vector<float> keys;    // [position][kv_head_count * head_dim], rotated
    std::vector<float> values;  // [position][kv_head_count * head_dim]
  };

  std::vector<Layer> layers;

  void Append(int32_t layer, int32_t position, std::span<const float> keys,
              std::span<const float> values) override;
  KvRows Rows(int32_t layer, int32_t end) override;

  // Over keys, then values, layer by layer, as binary32.
  Sha256Digest Digest() const;
};

// One model and its rotary tables. Several sequences may be run on it, from several threads, each
// with its own cache.
class ReferenceModel {
 public:
  // `model` outlives it. Tables are made for `max_positions`, at most the model's own.
  ReferenceModel(const Model& model, int32_t max_positions);

  // The logits after `token` at position cache->length, which grows by one; a fresh cache begins a
  // sequence. Per layer:
  //   x += Wo attention(rope(norm(Wq n + bq)), rope(norm(Wk n + bk)), Wv n + bv), n = RMSNorm(x)
  //   x += Wdown (silu(Wgate n) * Wup n), n = RMSNorm(x)
  // Every product is Dot, DotQ8 or DotW8A8 by the type of its own weight; a bias and a residual are
  // one addition each. Keys and values are rounded to the cache type before anything reads them.
  //
  // Shapes: result [vocabulary_size].
  // Errors: OutOfRange for a token or position beyond the model's; FailedPrecondition for a thread
  // whose floating-point mode is wrong; Internal names the layer and the quantity that is not
  // finite or does not fit the cache's type. After an error the cache is not to be used. Cost:
  // about two operations per weight, unvectorised.
  absl::StatusOr<std::vector<float>> Forward(int32_t token, ReferenceCache* cache) const;

  // The two halves of Forward, for whoever keeps keys and values elsewhere or needs few logits: the
  // last residual [hidden_dim] of `token` at `position`, before the final norm, and the logits of
  // that. Errors: as Forward.
  absl::StatusOr<std::vector<float>> Hidden(int32_t token, int32_t position, KvStore* kv) const;
  absl::StatusOr<std::vector<float>> Logits(std::span<const float> hidden) const;

  const RopeTable& rope_table() const { return rope_table_; }

 private:
  const Model& model_;
  int32_t max_positions_;
  RopeTable rope_table_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_FORWARD_H_
