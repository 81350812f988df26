// Everything that a tokenizer's results depend on, as bytes.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_VOCABULARY_CONTENT_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_VOCABULARY_CONTENT_H_

#include <functional>
#include <string_view>

#include "local_engine/tokenizer/internal/bpe_model.h"
#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

// Bits: a tag, then pieces by id, merges by rank, added tokens by id, stages in order, template.
// Numbers are eight bytes, little-endian; a string is its size and its bytes. `config.model` is not
// looked at: the model has it.
void WriteContent(const TokenizerConfig& config, const BpeModel& model,
                  const std::function<void(std::string_view)>& sink);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_VOCABULARY_CONTENT_H_
