// The versions of Unicode that tokenization is defined by, whatever version the libraries of this
// machine know. Without this, the same model would read the same text differently on two releases
// of an operating system.
//
// The models in use were trained and are served with Hugging Face's tokenizers library, so its
// versions are the definition: classes of characters in patterns are those of Unicode 16.0, and
// normalization is that of Unicode 9.0. What both have in common with Unicode 14.0 to 17.0 is left
// to PCRE2 and utf8proc; the tables here hold the difference.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_UNICODE_VERSIONS_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_UNICODE_VERSIONS_H_

#include <string>
#include <string_view>

namespace reenact::local_engine {

// A character on whose general category all versions agree, and that has the category (and, for
// Han, the script) that `code_point` has in Unicode 16.0. Most characters are their own.
char32_t StandIn(char32_t code_point);
// Whether any character from `first` to `last` has a stand-in, or is one.
bool TouchesStandIns(char32_t first, char32_t last);
// Writes `text` with its stand-ins, byte for byte as long. False, with nothing written, when there
// are none: nearly always.
bool WithStandIns(std::string_view text, std::string* written);

// Alphabetic, mark, decimal digit, connector or joiner: a character of a word.
bool IsWordCharacter(char32_t code_point);

// Whether normalization leaves a character alone because Unicode 9.0 did not have it: it is not
// decomposed, is never the result of a composition, and has combining class 0.
bool IsInertInNormalization(char32_t code_point);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_UNICODE_VERSIONS_H_
