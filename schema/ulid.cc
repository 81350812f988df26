#include "schema/ulid.h"

namespace reenact::schema {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr size_t kTextSize = 26;
constexpr size_t kTimeSize = 6;

// The digit that `c` stands for, or -1. The letters I, L, O and U are no digits: an id is copied
// from our own output, so a reader that guesses would only hide a typing error.
int DigitOf(char c) {
  if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  const size_t digit = kAlphabet.find(c);
  return digit == std::string_view::npos ? -1 : static_cast<int>(digit);
}

}  // namespace

Ulid MakeUlid(int64_t unix_ms, const std::array<uint8_t, 10>& entropy) noexcept {
  Ulid ulid;
  const auto ms = static_cast<uint64_t>(unix_ms);
  for (size_t i = 0; i < kTimeSize; ++i) {
    ulid.bytes[i] = static_cast<uint8_t>(ms >> (8 * (kTimeSize - 1 - i)));
  }
  for (size_t i = 0; i < entropy.size(); ++i) ulid.bytes[kTimeSize + i] = entropy[i];
  return ulid;
}

// 128 bits as 26 digits of 5 bits: the first digit holds the top three only.
std::string ToString(const Ulid& ulid) {
  std::string text(kTextSize, '0');
  unsigned pending = 0;
  unsigned pending_bits = 0;
  size_t at = kTextSize;
  for (size_t i = ulid.bytes.size(); i-- > 0;) {
    pending |= static_cast<unsigned>(ulid.bytes[i]) << pending_bits;
    pending_bits += 8;
    while (pending_bits >= 5) {
      text[--at] = kAlphabet[pending & 31];
      pending >>= 5;
      pending_bits -= 5;
    }
  }
  text[--at] = kAlphabet[pending & 31];
  return text;
}

std::optional<Ulid> ParseUlid(std::string_view text) {
  if (text.size() != kTextSize) return std::nullopt;
  if (DigitOf(text.front()) > 7) return std::nullopt;
  Ulid ulid;
  unsigned pending = 0;
  unsigned pending_bits = 0;
  size_t at = ulid.bytes.size();
  for (size_t i = kTextSize; i-- > 0;) {
    const int digit = DigitOf(text[i]);
    if (digit < 0) return std::nullopt;
    pending |= static_cast<unsigned>(digit) << pending_bits;
    pending_bits += 5;
    if (pending_bits >= 8 && at > 0) {
      ulid.bytes[--at] = static_cast<uint8_t>(pending);
      pending >>= 8;
      pending_bits -= 8;
    }
  }
  return ulid;
}

std::optional<Ulid> UlidFromBytes(std::string_view bytes) noexcept {
  Ulid ulid;
  if (bytes.size() != ulid.bytes.size()) return std::nullopt;
  for (size_t i = 0; i < bytes.size(); ++i) ulid.bytes[i] = static_cast<uint8_t>(bytes[i]);
  return ulid;
}

int64_t UnixMs(const Ulid& ulid) noexcept {
  int64_t ms = 0;
  for (size_t i = 0; i < kTimeSize; ++i) ms = ms << 8 | ulid.bytes[i];
  return ms;
}

}  // namespace reenact::schema
