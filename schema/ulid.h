// Identifiers of runs, segments and incidents: 48 bits of milliseconds, 80 random bits.
// Source: the ULID specification (Crockford base 32, 26 characters, sorts by time).

#ifndef REENACT_SCHEMA_ULID_H_
#define REENACT_SCHEMA_ULID_H_

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reenact::schema {

struct Ulid {
  std::array<uint8_t, 16> bytes{};

  friend auto operator<=>(const Ulid&, const Ulid&) = default;

  bool IsZero() const noexcept { return *this == Ulid{}; }

  std::string_view AsBytes() const noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// Makes an id from a time and ten random bytes; pure.
Ulid MakeUlid(int64_t unix_ms, const std::array<uint8_t, 10>& entropy) noexcept;

std::string ToString(const Ulid& ulid);
// Reads 26 characters of either case. Nothing when `text` is anything else.
std::optional<Ulid> ParseUlid(std::string_view text);
// Reads 16 raw bytes.
std::optional<Ulid> UlidFromBytes(std::string_view bytes) noexcept;
int64_t UnixMs(const Ulid& ulid) noexcept;

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_ULID_H_
