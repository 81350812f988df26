// The four Unicode normalization forms, as of Unicode 9.0 (see unicode_versions.h).

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_UNICODE_NORMALIZATION_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_UNICODE_NORMALIZATION_H_

#include <string>
#include <string_view>

namespace reenact::local_engine {

struct NormalizationForm {
  bool compatibility = false;  // NFKC and NFKD
  bool composed = false;       // NFC and NFKC
};

// Source: Unicode Standard Annex 15.
// Cost: n log n at worst, in a run of n combining marks.
std::string NormalizeUnicode(std::string_view text, NormalizationForm form);

// Every character in lower case by itself: no context, no language.
std::string LowercaseUnicode(std::string_view text);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_UNICODE_NORMALIZATION_H_
