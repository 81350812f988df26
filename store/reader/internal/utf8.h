// UTF-8 for readers: what may travel as text, and cuts that fall between characters.

#ifndef REENACT_STORE_READER_INTERNAL_UTF8_H_
#define REENACT_STORE_READER_INTERNAL_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace reenact::store::internal {

// Strict: no surrogates, no overlong forms, nothing above U+10FFFF. NUL is a character.
bool IsUtf8(std::string_view text);
// `text` with each byte that is no UTF-8 replaced by U+FFFD.
std::string ToUtf8(std::string_view text);
// The largest position <= `at` that does not lie inside a character of UTF-8 text.
size_t FloorToCharacter(std::string_view text, size_t at);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_UTF8_H_
