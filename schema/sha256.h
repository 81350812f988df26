// SHA-256 and HMAC-SHA-256 over bytes. Our own, because the recorder lives in strangers' processes
// and brings no crypto library with it; signing is not done here.

#ifndef REENACT_SCHEMA_SHA256_H_
#define REENACT_SCHEMA_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reenact::schema {

using Digest = std::array<uint8_t, 32>;

// An incremental SHA-256. Bits: equal to FIPS 180-4 on every machine; the CPU's SHA instructions
// are used where there are any.
// Threads: one at a time.
class Sha256 {
 public:
  Sha256() noexcept;
  void Update(std::string_view bytes) noexcept;
  // Ends the hash. The object must not be used afterwards.
  Digest Finish() noexcept;

 private:
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> block_;
  size_t block_size_ = 0;
  uint64_t total_size_ = 0;
};

Digest HashBytes(std::string_view bytes) noexcept;
// Source: RFC 2104.
Digest HmacSha256(std::string_view key, std::string_view message) noexcept;

std::string_view AsBytes(const Digest& digest) noexcept;
// 64 lower-case hex digits.
std::string ToHex(const Digest& digest);
std::string ToHex(std::string_view bytes);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_SHA256_H_
