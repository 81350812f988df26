// UTF-8 text by code points, with the properties of characters that Python's string methods use, as
// utf8proc has them. Case is mapped character by character, and the sharp s to two: ligatures stay.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_UNICODE_TEXT_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_UNICODE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reenact::local_engine {

// The code point at `*position`, which moves behind it. A byte that begins none is its own value.
char32_t NextCodePoint(std::string_view utf8, size_t* position);
void AppendUtf8(char32_t code_point, std::string* utf8);
// Where the text stops being UTF-8; nothing where all of it is.
std::optional<size_t> FindInvalidUtf8(std::string_view text);
size_t CodePointCount(std::string_view utf8);
// Byte offset of code point `index`; the size of the text where there are fewer.
size_t ByteOffset(std::string_view utf8, size_t index);

// Python's str.isspace of one character.
bool IsSpace(char32_t code_point);
// Python's str.isprintable of one character.
bool IsPrintable(char32_t code_point);
bool IsUpper(char32_t code_point);
bool IsLower(char32_t code_point);

inline bool IsCased(char32_t code_point) {
  return IsUpper(code_point) || IsLower(code_point);
}

std::string_view StripLeft(std::string_view text);
std::string_view StripRight(std::string_view text);

std::string Upper(std::string_view text);
std::string Lower(std::string_view text);
// First character in upper case, all others in lower case.
std::string Capitalize(std::string_view text);
// str.title: each run of letters capitalised.
std::string TitleCase(std::string_view text);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_UNICODE_TEXT_H_
