#include "local_engine/engine/identity.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "local_engine/numerics/sha256.h"
#include "local_engine/reference/rope.h"

namespace reenact::local_engine {
namespace {

// Raised when equal requests may give other bits than before, for another reason than the profile's
// arithmetic: the meaning of a request, the order of cuts.
constexpr const char* kEngineVersion = "1";

// The tables are a function of the frequencies, so a beginning of them stands for the whole,
// whatever the context of a model.
constexpr int32_t kHashedPositions = 4096;

class Fields {
 public:
  template <typename T>
  Fields& Number(T value) {
    hash_.Update(&value, sizeof(value));
    return *this;
  }

  Fields& Text(std::string_view text) {
    Number(uint64_t{text.size()});
    hash_.Update(text.data(), text.size());
    return *this;
  }

  Fields& Digest(const Sha256Digest& digest) {
    hash_.Update(digest.data(), digest.size());
    return *this;
  }

  Sha256Digest Finish() { return hash_.Finish(); }

 private:
  Sha256 hash_;
};

// What the arithmetic reads of a configuration; the shapes are in the weights, the rotation in its
// tables.
Sha256Digest ConfigurationDigest(const ModelConfig& config) {
  Fields fields;
  fields.Number(config.layer_count).Number(config.hidden_dim).Number(config.feed_forward_dim);
  fields.Number(config.head_count).Number(config.kv_head_count).Number(config.head_dim);
  fields.Number(config.vocabulary_size).Number(config.max_positions);
  fields.Number(config.rms_norm_epsilon);
  for (const bool flag :
       {config.tied_embeddings, config.qkv_bias, config.output_bias, config.qk_norm}) {
    fields.Number(static_cast<uint8_t>(flag));
  }
  for (int32_t window : config.layer_windows) fields.Number(window);
  fields.Number(uint64_t{config.end_token_ids.size()});
  for (int32_t token : config.end_token_ids) fields.Number(token);
  return fields.Finish();
}

}  // namespace

EngineIdentity IdentityOf(const Model& model, const Sha256Digest& weights, Profile profile,
                          const Tokenizer* tokenizer, std::string_view chat_template) {
  const int32_t positions = std::min(model.config.max_positions, kHashedPositions);
  EngineIdentity identity{.profile = profile == Profile::kN1 ? "n1" : "stock",
                          .engine_version = kEngineVersion,
                          .cache_type = DataTypeName(model.weights.cache_type),
                          .weights = weights,
                          .configuration = ConfigurationDigest(model.config),
                          .rotary_tables = MakeRopeTable(model.config.rope, positions).Digest()};
  if (tokenizer != nullptr) identity.tokenizer = tokenizer->Digest();
  if (!chat_template.empty()) {
    identity.chat_template = Sha256Of(chat_template.data(), chat_template.size());
  }
  return identity;
}

std::string EngineIdentity::Fingerprint() const {
  Fields fields;
  fields.Text(profile).Text(engine_version).Text(cache_type);
  for (const Sha256Digest* digest :
       {&weights, &configuration, &rotary_tables, &tokenizer, &chat_template}) {
    fields.Digest(*digest);
  }
  return profile + "-" + HexText(fields.Finish()).substr(0, 16);
}

}  // namespace reenact::local_engine
