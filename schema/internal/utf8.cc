#include "schema/internal/utf8.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "schema/internal/json_text.h"

namespace reenact::schema::internal {
namespace {

size_t SkipAscii(std::string_view bytes, size_t at) {
  while (at + sizeof(uint64_t) <= bytes.size()) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    if ((word & 0x8080808080808080u) != 0) break;
    at += sizeof(word);
  }
  while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) < 0x80) ++at;
  return at;
}

// True when further bytes could make a character of `tail`. A second byte is bounded below or
// above, never both, so that one of the two extremes fits wherever anything does.
bool IsCutCharacter(std::string_view tail) {
  constexpr size_t kLongest = 4;
  if (tail.size() >= kLongest) return false;
  for (const char filler : {'\x80', '\xbf'}) {
    std::string whole(tail);
    whole.resize(kLongest, filler);
    if (Utf8SizeAt(whole, 0) > tail.size()) return true;
  }
  return false;
}

}  // namespace

Utf8Faults FindUtf8Faults(std::string_view bytes) {
  Utf8Faults faults;
  for (size_t at = SkipAscii(bytes, 0); at < bytes.size(); at = SkipAscii(bytes, at)) {
    const size_t size = Utf8SizeAt(bytes, at);
    if (size != 0) {
      at += size;
    } else if (IsCutCharacter(bytes.substr(at))) {
      faults.incomplete = true;
      return faults;
    } else {
      faults.invalid = true;
      ++at;
    }
  }
  return faults;
}

std::string_view CutAtCodePoint(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit;
  // Three continuation bytes at most; more than that was no UTF-8 in the first place.
  for (int back = 0; back < 3 && end > 0; ++back) {
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80) break;
    --end;
  }
  return text.substr(0, end);
}

}  // namespace reenact::schema::internal
