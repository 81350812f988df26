#include "store/reader/internal/utf8.h"

#include <cstdint>

namespace reenact::store::internal {
namespace {

// The size of the character that `text` starts with, or 0 when it starts with none.
size_t CharacterSize(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto is_continuation = [&](size_t i) {
    return i < text.size() && (byte(i) & 0xc0) == 0x80;
  };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return is_continuation(1) ? 2 : 0;
  if (lead < 0xf0) {
    if (!is_continuation(1) || !is_continuation(2)) return 0;
    const bool overlong = lead == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead > 0xf4 || !is_continuation(1) || !is_continuation(2) || !is_continuation(3)) return 0;
  const bool overlong = lead == 0xf0 && byte(1) < 0x90;
  const bool too_large = lead == 0xf4 && byte(1) >= 0x90;
  return overlong || too_large ? 0 : 4;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string ToUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0)
      out.append("\xef\xbf\xbd");
    else
      out.append(text.substr(0, size));
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

size_t FloorToCharacter(std::string_view text, size_t at) {
  if (at >= text.size()) return text.size();
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

}  // namespace reenact::store::internal
