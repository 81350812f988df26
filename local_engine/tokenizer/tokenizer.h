// Text to token ids and back.
//
// A tokenizer is read from tokenizer.json (tokenizer_json.h) or from the metadata of a GGUF file
// (embedded_vocabulary.h); both become a TokenizerConfig, and a Tokenizer is made of that. What is
// understood: byte pair encoding, byte-level (GPT-2, Llama 3, Qwen, GPT-OSS) or SentencePiece-like
// with byte fallback (Llama 2, Mistral, Gemma), with the stages around it. Whatever is not
// understood is refused by name when the tokenizer is read: never skipped, never approximated.
//
// Encoding runs through these steps, each with a file in internal/:
//   added_tokens    control tokens are found; what lies between goes on
//   normalizer      the text is changed: Unicode forms, replacements
//   pre_tokenizer   it is cut into words, mostly by a pattern
//   bpe_model       each word becomes pieces
// and the ids of a template (a beginning-of-text token, say) go around the whole.
// Decoding is one chain of stages (text_stages), which also streams.
//
// The definition of every step is what Hugging Face's tokenizers library (0.22) does, down to its
// corners, because that is what the models were trained and are served with; ids and text are
// compared with it. The result depends on nothing of the machine, not even on the version of
// Unicode that its libraries know (unicode_versions).
//
// This room does no I/O, and knows no chat messages, models or files. Truncation and padding that
// a tokenizer.json may ask for are left out: they are the business of whoever makes batches.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_TOKENIZER_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/numerics/sha256.h"
#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

struct EncodeOptions {
  // Puts the template's ids around the text.
  bool add_special_tokens = true;
  // Whether "<|im_end|>" in the text is the control token. A prompt made from a chat template
  // needs this; text of a stranger that must not control the model is encoded without.
  bool parse_special_tokens = true;
};

class DecodeStream;

// Threads: const use from any number.
class Tokenizer {
 public:
  // Errors: InvalidArgument, Unimplemented.
  static absl::StatusOr<Tokenizer> Create(TokenizerConfig config);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Cost: n log n at worst for n bytes, whatever the text.
  // Errors: InvalidArgument for text that is not UTF-8 or larger than kLargestText;
  // ResourceExhausted when a pattern of the tokenizer runs out of steps.
  absl::StatusOr<std::vector<uint32_t>> Encode(std::string_view text,
                                               EncodeOptions options = {}) const;
  static constexpr size_t kLargestText = size_t{1} << 28;

  // The text of all ids: always valid UTF-8. Ids that stand for nothing are left out.
  std::string Decode(const std::vector<uint32_t>& ids, bool skip_special_tokens = false) const;
  // Decodes ids as they come. The tokenizer must outlive the stream.
  DecodeStream NewStream(bool skip_special_tokens = false) const;

  // The id of an added token or a piece, as the vocabulary spells it.
  std::optional<uint32_t> Find(std::string_view piece) const;
  // How the vocabulary spells an id: "Ġthe", "<0x0A>". Empty for an id that stands for nothing.
  const std::string& PieceOf(uint32_t id) const;
  // The bytes that an id adds to a text; of one that is part of a character, only those. Special
  // tokens stand for their names.
  std::string BytesOf(uint32_t id) const;
  // Whether an id controls the model rather than being text.
  bool IsSpecial(uint32_t id) const;
  // One past the largest id. A model may have rows for more.
  uint32_t id_end() const;

  // SHA-256 over everything that the results depend on. Two tokenizers that differ in any of it
  // have different digests; two spellings of the same tokenizer.json have the same.
  Sha256Digest Digest() const;

 private:
  friend class DecodeStream;
  struct Parts;

  explicit Tokenizer(std::unique_ptr<const Parts> parts);

  std::unique_ptr<const Parts> parts_;
};

class TextStage;

// Text out of ids, one at a time. What Push and Finish return, joined, is what Decode makes of all
// the ids; no character is ever split over two returns.
class DecodeStream {
 public:
  DecodeStream(const Tokenizer& tokenizer, bool skip_special_tokens);
  DecodeStream(DecodeStream&&) noexcept;
  DecodeStream& operator=(DecodeStream&&) noexcept;
  ~DecodeStream();

  // The text that is certain now and was not before: often empty, when a character is not complete.
  std::string Push(uint32_t id);
  // The rest. To be called once, last.
  std::string Finish();

 private:
  const Tokenizer::Parts* parts_;
  bool skip_special_tokens_;
  std::unique_ptr<std::string> text_;  // Where the last stage writes; its address stays.
  std::unique_ptr<TextStage> first_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_TOKENIZER_H_
