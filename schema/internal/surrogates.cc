#include "schema/internal/surrogates.h"

#include <cstdint>

namespace reenact::schema::internal {
namespace {

constexpr size_t kHalfSize = 3;

// The code unit of a surrogate written at `at`, or 0.
uint32_t SurrogateAt(const std::string& text, size_t at) {
  if (at + kHalfSize > text.size() || text[at] != '\xed') return 0;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const auto third = static_cast<unsigned char>(text[at + 2]);
  if (second < 0xa0 || second > 0xbf || (third & 0xc0) != 0x80) return 0;
  return 0xd000u | ((second & 0x3fu) << 6) | (third & 0x3fu);
}

void AppendCharacter(uint32_t code_point, std::string* out) {
  out->push_back(static_cast<char>(0xf0 | (code_point >> 18)));
  out->push_back(static_cast<char>(0x80 | ((code_point >> 12) & 0x3f)));
  out->push_back(static_cast<char>(0x80 | ((code_point >> 6) & 0x3f)));
  out->push_back(static_cast<char>(0x80 | (code_point & 0x3f)));
}

}  // namespace

void JoinSurrogates(std::string* text) {
  if (text->find('\xed') == std::string::npos) return;
  std::string joined;
  joined.reserve(text->size());
  for (size_t at = 0; at < text->size();) {
    const uint32_t high = SurrogateAt(*text, at);
    const uint32_t low = high != 0 ? SurrogateAt(*text, at + kHalfSize) : 0;
    if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00) {
      AppendCharacter(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), &joined);
      at += 2 * kHalfSize;
    } else {
      joined.push_back((*text)[at++]);
    }
  }
  *text = std::move(joined);
}

}  // namespace reenact::schema::internal
