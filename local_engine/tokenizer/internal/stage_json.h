// The stages in a tokenizer.json: what its members normalizer, pre_tokenizer, post_processor and
// decoder say. Each function takes one member as JSON; "null" is no stage at all.
// Errors: as ReadTokenizerJson.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_STAGE_JSON_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_STAGE_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

absl::Status ReadNormalizers(const std::string& json, std::vector<NormalizerStage>* stages);
absl::Status ReadPreTokenizers(const std::string& json, std::vector<PreTokenizerStage>* stages);
// Of all processors, what they put around a single text.
absl::Status ReadPostProcessor(const std::string& json, std::vector<uint32_t>* prefix_ids,
                               std::vector<uint32_t>* suffix_ids);
absl::Status ReadDecoders(const std::string& json,
                          std::optional<std::vector<DecoderStage>>* stages);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_STAGE_JSON_H_
