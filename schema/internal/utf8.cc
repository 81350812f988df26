#include "schema/internal/utf8.h"

#include <cstdint>
#include <cstring>

namespace reenact::schema {
namespace {

struct LeadByte {
  size_t size = 0;            // Of the whole character; 0 where no character starts so.
  unsigned char low = 0x80;   // Range of the second byte, which excludes overlong forms,
  unsigned char high = 0xbf;  // surrogates and values past U+10FFFF.
};

LeadByte Classify(unsigned char lead) {
  if (lead < 0x80) return {.size = 1};
  if (lead < 0xc2) return {};
  if (lead < 0xe0) return {.size = 2};
  if (lead == 0xe0) return {.size = 3, .low = 0xa0};
  if (lead == 0xed) return {.size = 3, .high = 0x9f};
  if (lead < 0xf0) return {.size = 3};
  if (lead == 0xf0) return {.size = 4, .low = 0x90};
  if (lead < 0xf4) return {.size = 4};
  if (lead == 0xf4) return {.size = 4, .high = 0x8f};
  return {};
}

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

}  // namespace

Utf8Faults FindUtf8Faults(std::string_view bytes) {
  Utf8Faults faults;
  for (size_t at = SkipAscii(bytes, 0); at < bytes.size(); at = SkipAscii(bytes, at)) {
    const LeadByte lead = Classify(static_cast<unsigned char>(bytes[at]));
    size_t matched = lead.size == 0 ? 0 : 1;
    while (matched < lead.size && at + matched < bytes.size()) {
      const auto next = static_cast<unsigned char>(bytes[at + matched]);
      const bool second = matched == 1;
      if (next < (second ? lead.low : 0x80) || next > (second ? lead.high : 0xbf)) break;
      ++matched;
    }
    if (matched != 0 && matched == lead.size) {
      at += matched;
    } else if (matched != 0 && at + matched == bytes.size()) {
      faults.incomplete = true;
      return faults;
    } else {
      faults.invalid = true;
      at += matched == 0 ? 1 : matched;
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

}  // namespace reenact::schema
