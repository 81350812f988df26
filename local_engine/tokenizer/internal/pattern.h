// A compiled pattern that cuts text. Threads: const use from any number.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_PATTERN_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_PATTERN_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

struct Span {
  size_t begin = 0;
  size_t end = 0;
  bool is_match = false;
};

class Pattern {
 public:
  // Errors: as TranslatePattern; InvalidArgument for an empty pattern, or one that PCRE2 refuses.
  static absl::StatusOr<Pattern> Compile(const TextPattern& pattern);

  // Appends the spans of `text`, which together cover it: matches, and what lies between them.
  // An empty match is a span too, except one where the match before it ended.
  // Cost: a match may take so many steps as are in proportion to the text; a pattern that wants
  // more is ResourceExhausted.
  absl::Status Cut(std::string_view text, std::vector<Span>* spans) const;

 private:
  struct Regex;

  absl::Status CutByRegex(std::string_view text, std::vector<Span>* spans) const;

  std::string literal_;                 // Where there is no regex.
  std::shared_ptr<const Regex> regex_;  // Shared, so that a pattern is a value.
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_PATTERN_H_
