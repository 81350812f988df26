#include "schema/internal/json_text.h"

#include <algorithm>

namespace reenact::schema::internal {
namespace {

constexpr size_t kUnicodeEscapeSize = 6;  // \uXXXX

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The code unit of the \uXXXX at `at`, or -1.
int32_t ReadUnicodeEscape(std::string_view inner, size_t at) {
  if (at > inner.size() || inner.size() - at < kUnicodeEscapeSize) return -1;
  if (inner[at] != '\\' || inner[at + 1] != 'u') return -1;
  int32_t unit = 0;
  for (size_t i = 2; i < kUnicodeEscapeSize; ++i) {
    const int digit = HexDigit(inner[at + i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

constexpr bool IsHighSurrogate(int32_t unit) {
  return unit >= 0xd800 && unit <= 0xdbff;
}

constexpr bool IsLowSurrogate(int32_t unit) {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

// The plain bit layout of UTF-8, surrogates included.
void PutCodePoint(int32_t code_point, JsonUnit* unit) {
  const auto put = [unit](int32_t byte) {
    unit->text[unit->text_size++] = static_cast<char>(static_cast<uint8_t>(byte));
  };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
    put(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    put(0xe0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  } else {
    put(0xf0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3f));
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
}

char ShortEscape(char letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      return letter;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

}  // namespace

JsonUnit ReadJsonUnit(std::string_view inner, size_t at) {
  JsonUnit unit;
  if (inner[at] != '\\') {
    unit.written_size = 1;
    unit.text[0] = inner[at];
    unit.text_size = 1;
    return unit;
  }
  if (at + 1 >= inner.size()) return unit;
  if (const char escaped = ShortEscape(inner[at + 1]); escaped != '\0') {
    unit.written_size = 2;
    unit.text[0] = escaped;
    unit.text_size = 1;
    return unit;
  }
  const int32_t first = ReadUnicodeEscape(inner, at);
  if (first < 0) return unit;
  unit.written_size = kUnicodeEscapeSize;
  int32_t code_point = first;
  if (IsHighSurrogate(first)) {
    const int32_t second = ReadUnicodeEscape(inner, at + kUnicodeEscapeSize);
    if (IsLowSurrogate(second)) {
      unit.written_size += kUnicodeEscapeSize;
      code_point = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    }
  }
  unit.lone_surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  PutCodePoint(code_point, &unit);
  return unit;
}

void AppendDecodedJson(std::string_view inner, std::string* out) {
  size_t at = 0;
  while (at < inner.size()) {
    const size_t escape = std::min(inner.find('\\', at), inner.size());
    out->append(inner, at, escape - at);
    at = escape;
    if (at == inner.size()) return;
    const JsonUnit unit = ReadJsonUnit(inner, at);
    if (unit.written_size == 0) {
      out->push_back(inner[at++]);
      continue;
    }
    out->append(unit.AsText());
    at += unit.written_size;
  }
}

// Source: RFC 3629, section 4.
size_t Utf8SizeAt(std::string_view text, size_t at) {
  const auto byte = [text, at](size_t i) {
    return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : uint8_t{0};
  };
  const auto continues = [byte](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  if (at >= text.size()) return 0;
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!continues(1) || !continues(2)) return 0;
    if (lead == 0xe0 && byte(1) < 0xa0) return 0;
    return lead == 0xed && byte(1) > 0x9f ? 0 : 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (lead == 0xf0 && byte(1) < 0x90) return 0;
    return lead == 0xf4 && byte(1) > 0x8f ? 0 : 4;
  }
  return 0;
}

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t size = Utf8SizeAt(text, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

}  // namespace reenact::schema::internal
