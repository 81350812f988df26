// Patterns of tokenizer.json, written for Oniguruma (Ruby syntax), as patterns for PCRE2.
//
// The two agree on most of what pre-tokenizers use, and disagree silently on the rest: \h, \v, \s,
// \w, ^, $, "&&" and "[" in a class, multi-character case folding. So this is not a search and
// replace: the whole pattern is read, what is understood is written anew in terms that mean one
// thing (general categories and code points), and all else is refused by name.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_PATTERN_TRANSLATOR_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_PATTERN_TRANSLATOR_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace reenact::local_engine {

struct TranslatedPattern {
  std::string text;               // For PCRE2 with PCRE2_UTF and PCRE2_MULTILINE, and nothing else.
  bool names_categories = false;  // Whether the text that it meets needs stand-ins.
};

// Errors: Unimplemented, with the construct, for what has no certain equivalent; InvalidArgument
// for what is no pattern. Some errors only PCRE2 finds.
absl::StatusOr<TranslatedPattern> TranslatePattern(std::string_view pattern);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_PATTERN_TRANSLATOR_H_
