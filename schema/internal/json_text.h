// The text of JSON strings, one character at a time, and UTF-8: what the parser, the canonical
// form and redaction must agree on.

#ifndef REENACT_SCHEMA_INTERNAL_JSON_TEXT_H_
#define REENACT_SCHEMA_INTERNAL_JSON_TEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reenact::schema::internal {

// One character of a string as written: how many bytes it took there, and what it stands for.
struct JsonUnit {
  size_t written_size = 0;  // 0: an escape that is none.
  std::array<char, 4> text{};
  size_t text_size = 0;
  bool lone_surrogate = false;

  std::string_view AsText() const { return {text.data(), text_size}; }
};

// Reads the unit at `at` of `inner`, the text between the quotes. An unescaped byte is one unit,
// whatever it is; an escaped surrogate pair is one; a lone surrogate is its three-byte form.
// `at` < inner.size().
JsonUnit ReadJsonUnit(std::string_view inner, size_t at);

// Appends the text that `inner` stands for. Escapes that are none are kept as written.
void AppendDecodedJson(std::string_view inner, std::string* out);

// The length of the well-formed UTF-8 character at `at`, or 0 when there is none. Surrogates and
// overlong forms are not well-formed.
size_t Utf8SizeAt(std::string_view text, size_t at);
bool IsUtf8(std::string_view text);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_JSON_TEXT_H_
