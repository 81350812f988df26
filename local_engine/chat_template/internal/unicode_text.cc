#include "local_engine/chat_template/internal/unicode_text.h"

#include <utf8proc.h>

namespace reenact::local_engine {
namespace {

utf8proc_category_t Category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

char32_t LowerOf(char32_t c) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

char32_t UpperOf(char32_t c) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

char32_t TitleOf(char32_t c) {
  return static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c)));
}

bool IsCased(char32_t c) {
  return IsUpper(c) || IsLower(c) || Category(c) == UTF8PROC_CATEGORY_LT;
}

// Greek sigma at the end of a word has a lower case of its own.
constexpr char32_t kCapitalSigma = 0x3A3, kFinalSigma = 0x3C2;

void AppendLower(char32_t c, bool ends_word, std::string* out) {
  if (c == 0x130) {
    *out += "i\u0307";
  } else {
    AppendUtf8(c == kCapitalSigma && ends_word ? kFinalSigma : LowerOf(c), out);
  }
}

void AppendUpper(char32_t c, bool title, std::string* out) {
  if (c == 0xDF) {
    *out += title ? "Ss" : "SS";
  } else {
    AppendUtf8(title ? TitleOf(c) : UpperOf(c), out);
  }
}

bool LetterFollows(std::string_view text, size_t position) {
  return position < text.size() && IsCased(NextCodePoint(text, &position));
}

// `upper_here(after_letter, position)` says which letters are capitals.
template <typename UpperHere>
std::string MapCase(std::string_view text, UpperHere upper_here) {
  std::string out;
  out.reserve(text.size());
  bool after_letter = false;
  for (size_t position = 0; position < text.size();) {
    const size_t start = position;
    const char32_t c = NextCodePoint(text, &position);
    if (upper_here(after_letter, start)) {
      AppendUpper(c, true, &out);
    } else {
      AppendLower(c, after_letter && !LetterFollows(text, position), &out);
    }
    after_letter = IsCased(c);
  }
  return out;
}

}  // namespace

char32_t NextCodePoint(std::string_view utf8, size_t* position) {
  const auto lead = static_cast<unsigned char>(utf8[(*position)++]);
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  if (more == 0 || *position + more > utf8.size()) return lead;
  char32_t code_point = lead & (0x3F >> more);
  for (int i = 0; i < more; ++i) {
    const auto next = static_cast<unsigned char>(utf8[*position + i]);
    if ((next & 0xC0) != 0x80) return lead;
    code_point = code_point << 6 | (next & 0x3F);
  }
  *position += more;
  return code_point;
}

void AppendUtf8(char32_t c, std::string* utf8) {
  const auto byte = [utf8](char32_t bits) { utf8->push_back(static_cast<char>(bits)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | c >> 6);
    byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3F));
    byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | c >> 18);
    byte(0x80 | (c >> 12 & 0x3F));
    byte(0x80 | (c >> 6 & 0x3F));
    byte(0x80 | (c & 0x3F));
  }
}

std::optional<size_t> FindInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t code_point = 0;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
    const utf8proc_ssize_t size =
        utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &code_point);
    if (size <= 0) return at;
    at += static_cast<size_t>(size);
  }
  return std::nullopt;
}

size_t CodePointCount(std::string_view utf8) {
  size_t count = 0;
  for (size_t position = 0; position < utf8.size(); ++count) NextCodePoint(utf8, &position);
  return count;
}

size_t ByteOffset(std::string_view utf8, size_t index) {
  size_t position = 0;
  for (; index > 0 && position < utf8.size(); --index) NextCodePoint(utf8, &position);
  return position;
}

bool IsSpace(char32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  const utf8proc_category_t category = Category(c);
  return c == 0x85 || (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
}

bool IsPrintable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7F;
  const utf8proc_category_t category = Category(c);
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
}

bool IsUpper(char32_t c) {
  return Category(c) == UTF8PROC_CATEGORY_LU;
}

bool IsLower(char32_t c) {
  return Category(c) == UTF8PROC_CATEGORY_LL;
}

bool IsLetter(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

std::string_view StripLeft(std::string_view text) {
  for (size_t position = 0; position < text.size();) {
    const size_t start = position;
    if (!IsSpace(NextCodePoint(text, &position))) return text.substr(start);
  }
  return {};
}

std::string_view StripRight(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t start = end - 1;
    while (start > 0 && end - start < 4 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80)
      --start;
    size_t position = start;
    const char32_t c = NextCodePoint(text.substr(0, end), &position);
    if (position != end || !IsSpace(c)) break;
    end = start;
  }
  return text.substr(0, end);
}

std::string Upper(std::string_view text) {
  std::string out;
  for (size_t position = 0; position < text.size();)
    AppendUpper(NextCodePoint(text, &position), false, &out);
  return out;
}

std::string Lower(std::string_view text) {
  return MapCase(text, [](bool, size_t) { return false; });
}

std::string Capitalize(std::string_view text) {
  return MapCase(text, [](bool, size_t position) { return position == 0; });
}

std::string TitleCase(std::string_view text) {
  return MapCase(text, [](bool after_letter, size_t) { return !after_letter; });
}

}  // namespace reenact::local_engine
