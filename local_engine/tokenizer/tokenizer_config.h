// A tokenizer as values: what a tokenizer.json or the metadata of a GGUF file says, before anything
// is compiled. Sequences of stages are flat here, and every number has been checked by the reader
// or is checked by Tokenizer::Create.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_TOKENIZER_CONFIG_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_TOKENIZER_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reenact::local_engine {

// Two neighbours become one piece; of all that apply, the lowest rank goes first, then the
// leftmost.
struct MergeRule {
  uint32_t left = 0;
  uint32_t right = 0;
  uint32_t merged = 0;
  uint32_t rank = 0;
};

struct BpeConfig {
  std::vector<std::string> pieces;  // By id; an empty string is an id without a piece.
  std::vector<MergeRule> merges;    // A later rule for the same pair replaces an earlier one.
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;  // Before every character of a word but its first.
  std::string end_of_word_suffix;         // After the last character of a word.
  bool fuse_unk = false;                  // Neighbouring unknown characters are one unk_token.
  bool byte_fallback = false;  // An unknown character becomes the pieces <0x00> … <0xFF>.
  bool ignore_merges = false;  // A word that is a piece is taken whole.
};

// A string that is found in text before any model sees it.
struct AddedToken {
  std::string content;
  uint32_t id = 0;
  bool single_word = false;  // Only between characters that are not of words.
  bool lstrip = false;       // Takes the white space before it,
  bool rstrip = false;       // and after it.
  bool normalized = false;   // Looked for after normalization, in its normalized form.
  bool special = false;      // Controls the model; skipped on demand when decoding.
};

struct TextPattern {
  std::string text;
  bool is_regex = false;
};

struct NormalizerStage {
  enum class Kind { kNfc, kNfd, kNfkc, kNfkd, kLowercase, kPrepend, kReplace, kStrip };

  Kind kind = Kind::kNfc;
  TextPattern pattern;       // kReplace
  std::string content;       // kPrepend, kReplace
  bool strip_left = false;   // kStrip
  bool strip_right = false;  // kStrip
};

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
enum class PrependScheme { kAlways, kFirst, kNever };

struct PreTokenizerStage {
  enum class Kind { kSplit, kByteLevel, kMetaspace };

  Kind kind = Kind::kSplit;
  TextPattern pattern;                                    // kSplit
  SplitBehavior behavior = SplitBehavior::kIsolated;      // kSplit
  bool invert = false;                                    // kSplit
  bool add_prefix_space = false;                          // kByteLevel
  bool use_regex = false;                                 // kByteLevel: splits as GPT-2 does
  std::string replacement;                                // kMetaspace: one character
  PrependScheme prepend_scheme = PrependScheme::kAlways;  // kMetaspace
  bool split = true;                                      // kMetaspace
};

struct DecoderStage {
  enum class Kind { kByteLevel, kMetaspace, kByteFallback, kFuse, kReplace, kStrip };

  Kind kind = Kind::kFuse;
  std::string pattern;  // kReplace, taken literally
  std::string content;  // kReplace; kStrip, kMetaspace: one character
  uint32_t start = 0;   // kStrip: at most so many from the left,
  uint32_t stop = 0;    // and from the right
  PrependScheme prepend_scheme = PrependScheme::kAlways;  // kMetaspace
};

struct TokenizerConfig {
  BpeConfig model;
  std::vector<AddedToken> added_tokens;
  std::vector<NormalizerStage> normalizers;
  std::vector<PreTokenizerStage> pre_tokenizers;
  std::vector<uint32_t> prefix_ids;  // What encoding with special tokens puts before the text,
  std::vector<uint32_t> suffix_ids;  // and after it.
  // None: decoded pieces are joined by spaces.
  std::optional<std::vector<DecoderStage>> decoders;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_TOKENIZER_CONFIG_H_
