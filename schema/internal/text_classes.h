// Classes of characters, and small look-aheads in text, of which secrets and their surroundings
// are made. ASCII only: every other byte belongs to no class.

#ifndef REENACT_SCHEMA_INTERNAL_TEXT_CLASSES_H_
#define REENACT_SCHEMA_INTERNAL_TEXT_CLASSES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reenact::schema::internal {

inline bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

inline bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}

inline bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

inline bool IsAlphanumeric(char c) {
  return IsDigit(c) || IsLower(c) || IsUpper(c);
}

inline bool IsWordDash(char c) {
  return IsAlphanumeric(c) || c == '-' || c == '_';
}

inline bool IsHex(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

inline bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

inline bool IsQuote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

// The letters of the short JSON escapes of white space.
inline bool IsEscapeLetter(char c) {
  return c == 'n' || c == 'r' || c == 't' || c == 'b' || c == 'f';
}

// What tokens of HTTP authentication and base64 are made of.
inline bool IsTokenCharacter(char c) {
  return IsWordDash(c) || std::string_view("._~+/=%:").find(c) != std::string_view::npos;
}

// ASCII letters only.
inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (IsUpper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

inline bool IsAllHex(std::string_view digits) {
  return std::all_of(digits.begin(), digits.end(), IsHex);
}

template <typename Predicate>
size_t SkipWhile(std::string_view text, size_t at, Predicate predicate) {
  while (at < text.size() && predicate(text[at])) ++at;
  return at;
}

inline size_t SkipBlanks(std::string_view text, size_t at) {
  return SkipWhile(text, at, [](char c) { return c == ' ' || c == '\t'; });
}

inline bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (IsUpper(a) ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

inline bool StartsWithIgnoringCase(std::string_view text, size_t at, std::string_view lower) {
  return at <= text.size() && EqualsIgnoringCase(text.substr(at, lower.size()), lower);
}

// True of what nobody writes as a word or an expression: "hunter2", not "required" or "f(key)".
inline bool LooksRandom(std::string_view value) {
  constexpr size_t kShortest = 6;
  constexpr size_t kLongestWord = 24;
  if (value.size() < kShortest) return false;
  const bool has_digit = std::any_of(value.begin(), value.end(), IsDigit);
  const bool is_code = value.find_first_of("()[]{}$<>") != std::string_view::npos;
  return !is_code && (has_digit || value.size() > kLongestWord);
}

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_TEXT_CLASSES_H_
