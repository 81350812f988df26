// Decoding as a chain of stages through which the pieces of tokens flow.
//
// The original decodes a whole list at once, each decoder turning a list of strings into another.
// Here each decoder is a stage that passes on what no later token can change and holds back the
// rest, so that text can be shown while it is generated and the end result is the same.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_TEXT_STAGES_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_TEXT_STAGES_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

// Takes a list of strings: fragments of whole characters, an end for each string, one end for all.
class TextStage {
 public:
  virtual ~TextStage() = default;
  virtual void Fragment(std::string_view text) = 0;
  virtual void EndToken() = 0;
  virtual void Finish() = 0;
};

// The stages in order, before a last one that appends to `out`. None (no decoder at all) joins the
// strings by spaces. The first stage leads to all others.
std::unique_ptr<TextStage> MakeTextStages(const std::optional<std::vector<DecoderStage>>& stages,
                                          std::string* out);

// The bytes that one piece stands for in the middle of a text, though they be part of a character.
std::string BytesOfPiece(std::string_view piece,
                         const std::optional<std::vector<DecoderStage>>& stages);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_TEXT_STAGES_H_
