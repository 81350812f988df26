// The stages that cut text into words. A model never merges across the end of a word.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_PRE_TOKENIZER_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_PRE_TOKENIZER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/tokenizer/internal/pattern.h"
#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

// Words, one after the other in one buffer; none is empty.
struct WordList {
  std::string text;
  std::vector<size_t> ends;   // Of each word, in `text`.
  bool begins_input = false;  // Whether they are one word yet, from the start of the whole input.

  void Add(std::string_view word) {
    if (word.empty()) return;
    text += word;
    ends.push_back(text.size());
  }
};

class PreTokenizer {
 public:
  // Errors: as Pattern::Compile.
  static absl::StatusOr<PreTokenizer> Create(const std::vector<PreTokenizerStage>& stages);

  // Errors: as Pattern::Cut.
  absl::Status Apply(WordList* words) const;

 private:
  struct Stage {
    PreTokenizerStage config;
    Pattern pattern;  // kSplit; kByteLevel with use_regex
    bool has_pattern = false;
  };

  static absl::Status ApplyStage(const Stage& stage, WordList* words);

  std::vector<Stage> stages_;
};

// Which of the spans that cover a text become words, and which are joined or dropped.
std::vector<Span> SpansToWords(const std::vector<Span>& spans, SplitBehavior behavior, bool invert);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_PRE_TOKENIZER_H_
