// SHA-256, for the digests of weights and tables and for golden hashes. Source: FIPS 180-4.

#ifndef REENACT_LOCAL_ENGINE_NUMERICS_SHA256_H_
#define REENACT_LOCAL_ENGINE_NUMERICS_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace reenact::local_engine {

using Sha256Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  void Update(const void* data, size_t size_bytes);

  // The bytes of the values as they lie in memory (little-endian on every machine we build for).
  template <typename T>
  void UpdateValues(std::span<const T> values) {
    Update(values.data(), values.size_bytes());
  }

  // Of everything so far. Call once.
  Sha256Digest Finish();

 private:
  void Compress(const uint8_t* blocks, size_t count);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_ = {};
  size_t pending_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

Sha256Digest Sha256Of(const void* data, size_t size_bytes);

// 64 lower-case hexadecimal digits.
std::string HexText(const Sha256Digest& digest);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_NUMERICS_SHA256_H_
