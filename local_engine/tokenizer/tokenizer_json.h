// Reads tokenizer.json, the file of Hugging Face's tokenizers library.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_TOKENIZER_JSON_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_TOKENIZER_JSON_H_

#include <string_view>

#include "absl/status/statusor.h"

#include "local_engine/tokenizer/tokenizer.h"
#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

// The whole text of a tokenizer.json as values. Fields that have no influence on ids or text
// (offsets, type ids, truncation, padding) are not read.
// Errors: Unimplemented, with the name, for a model or stage of a kind that is not supported;
// InvalidArgument, with the place, for what is missing, contradictory or no JSON.
absl::StatusOr<TokenizerConfig> ReadTokenizerJson(std::string_view json);

// The same, made into a tokenizer. Errors: also those of Tokenizer::Create.
absl::StatusOr<Tokenizer> TokenizerFromJson(std::string_view json);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_TOKENIZER_JSON_H_
