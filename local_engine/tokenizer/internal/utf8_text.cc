#include "local_engine/tokenizer/internal/utf8_text.h"

namespace reenact::local_engine {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The whole length of a character by its first byte; 0: no character starts so.
size_t SizeFromLead(unsigned char byte) {
  if (byte < 0x80) return 1;
  if (byte < 0xc2) return 0;
  if (byte < 0xe0) return 2;
  if (byte < 0xf0) return 3;
  return byte < 0xf5 ? 4 : 0;
}

// Whether `byte` may follow `lead` as the second byte: neither an overlong form, nor a surrogate,
// nor beyond U+10FFFF.
bool SecondByteFits(unsigned char lead, unsigned char byte) {
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  return byte >= low && byte <= high;
}

unsigned char ByteAt(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

}  // namespace

size_t FirstInvalidByte(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const unsigned char lead = ByteAt(bytes, at);
    const size_t size = SizeFromLead(lead);
    if (size == 0 || at + size > bytes.size()) return at;
    if (size > 1 && !SecondByteFits(lead, ByteAt(bytes, at + 1))) return at;
    for (size_t i = 2; i < size; ++i) {
      if ((ByteAt(bytes, at + i) & 0xc0) != 0x80) return at;
    }
    at += size;
  }
  return std::string_view::npos;
}

char32_t CodePointAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(ByteAt(text, at + i)); };
  switch (CharLength(text[at])) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    case 3:
      return (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    default:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 |
             (byte(3) & 0x3f);
  }
}

size_t PreviousChar(std::string_view text, size_t end) {
  size_t start = end - 1;
  while (start > 0 && (ByteAt(text, start) & 0xc0) == 0x80) --start;
  return start;
}

void AppendCodePoint(char32_t code_point, std::string* text) {
  const auto push = [text](char32_t bits) { text->push_back(static_cast<char>(bits)); };
  if (code_point < 0x80) {
    push(code_point);
  } else if (code_point < 0x800) {
    push(0xc0 | code_point >> 6);
    push(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    push(0xe0 | code_point >> 12);
    push(0x80 | (code_point >> 6 & 0x3f));
    push(0x80 | (code_point & 0x3f));
  } else {
    push(0xf0 | code_point >> 18);
    push(0x80 | (code_point >> 12 & 0x3f));
    push(0x80 | (code_point >> 6 & 0x3f));
    push(0x80 | (code_point & 0x3f));
  }
}

bool IsWhiteSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool LossyUtf8::Accepts(unsigned char byte) const {
  if (held_.size() == 1) return SecondByteFits(ByteAt(held_, 0), byte);
  return (byte & 0xc0) == 0x80;
}

void LossyUtf8::Push(std::string_view bytes, std::string* text) {
  for (size_t at = 0; at < bytes.size(); ++at) {
    const unsigned char byte = ByteAt(bytes, at);
    if (!held_.empty() && !Accepts(byte)) Finish(text);
    if (held_.empty()) {
      wanted_size_ = SizeFromLead(byte);
      if (wanted_size_ == 0) {
        text->append(kReplacement);
        continue;
      }
    }
    held_.push_back(bytes[at]);
    if (held_.size() == wanted_size_) {
      text->append(held_);
      held_.clear();
    }
  }
}

void LossyUtf8::Finish(std::string* text) {
  if (held_.empty()) return;
  text->append(kReplacement);
  held_.clear();
}

}  // namespace reenact::local_engine
