// Tokenizers as GGUF files carry them: pieces with scores or merges and types, and names for the
// rest. Whoever reads the file fills in the values; nothing here knows the file.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_EMBEDDED_VOCABULARY_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_EMBEDDED_VOCABULARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

// Source: the keys tokenizer.ggml.* of the GGUF specification.
struct EmbeddedVocabulary {
  enum PieceType : int32_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
  };

  std::string model;                // "llama": scores; "gpt2": merges
  std::string pre;                  // Of "gpt2": the name of a pattern, "llama-bpe" or "qwen2".
  std::vector<std::string> pieces;  // tokens
  std::vector<float> scores;        // As many as pieces, or none.
  std::vector<int32_t> types;       // token_type; as many as pieces, or none: all are normal.
  std::vector<std::string> merges;  // "a b"
  bool add_space_prefix = true;
  std::optional<uint32_t> unknown_id;
  std::optional<uint32_t> bos_id;  // Put before a text, where set; the reader
  std::optional<uint32_t> eos_id;  // heeds add_bos_token and add_eos_token.
};

// The merges that give the segmentation of SentencePiece: two neighbours whose text together is a
// piece are merged, the piece with the highest score first, and of equals the leftmost. Pieces that
// are not normal are made by no merge. Errors: InvalidArgument when a score is not a number.
absl::StatusOr<std::vector<MergeRule>> MergesFromScores(const std::vector<std::string>& pieces,
                                                        const std::vector<float>& scores,
                                                        const std::vector<int32_t>& types);

// Errors: Unimplemented, with the name, for another model or pattern; InvalidArgument.
absl::StatusOr<TokenizerConfig> ConfigFromEmbedded(const EmbeddedVocabulary& vocabulary);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_EMBEDDED_VOCABULARY_H_
