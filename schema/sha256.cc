#include "schema/sha256.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace reenact::schema {
namespace {

constexpr size_t kBlockSize = 64;

constexpr std::array<uint32_t, 8> kInitialState = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

alignas(16) constexpr std::array<uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr uint32_t RotateRight(uint32_t value, unsigned count) {
  return (value >> count) | (value << (32 - count));
}

uint32_t LoadBigEndian(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | static_cast<uint32_t>(bytes[3]);
}

// FIPS 180-4, section 6.2.2, for each block. The specification of the fast one below.
void CompressScalar(uint32_t* state, const uint8_t* blocks, size_t block_count) {
  for (; block_count > 0; --block_count, blocks += kBlockSize) {
    std::array<uint32_t, 64> schedule;
    for (size_t t = 0; t < 16; ++t) schedule[t] = LoadBigEndian(blocks + 4 * t);
    for (size_t t = 16; t < 64; ++t) {
      const uint32_t near = schedule[t - 2];
      const uint32_t far = schedule[t - 15];
      const uint32_t sigma1 = RotateRight(near, 17) ^ RotateRight(near, 19) ^ (near >> 10);
      const uint32_t sigma0 = RotateRight(far, 7) ^ RotateRight(far, 18) ^ (far >> 3);
      schedule[t] = sigma1 + schedule[t - 7] + sigma0 + schedule[t - 16];
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (size_t t = 0; t < 64; ++t) {
      const uint32_t sum1 = RotateRight(e, 6) ^ RotateRight(e, 11) ^ RotateRight(e, 25);
      const uint32_t sum0 = RotateRight(a, 2) ^ RotateRight(a, 13) ^ RotateRight(a, 22);
      const uint32_t choice = (e & f) ^ (~e & g);
      const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
      const uint32_t first = h + sum1 + choice + kRoundConstants[t] + schedule[t];
      h = g, g = f, f = e, e = d + first;
      d = c, c = b, b = a, a = first + sum0 + majority;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
  }
}

#if defined(__x86_64__)

// The instructions keep the state as two registers, (A B E F) and (C D G H), and do two rounds
// each; the schedule is extended four words at a time in a ring of four registers.
__attribute__((target("sha,sse4.1,ssse3"))) void CompressShaInstructions(uint32_t* state,
                                                                         const uint8_t* blocks,
                                                                         size_t block_count) {
  const __m128i byte_swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  const auto* constants = reinterpret_cast<const __m128i*>(kRoundConstants.data());
  auto* words = reinterpret_cast<__m128i*>(state);

  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);

  for (; block_count > 0; --block_count, blocks += kBlockSize) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i schedule[4];
    for (int group = 0; group < 16; ++group) {
      __m128i& current = schedule[group & 3];
      if (group < 4) {
        current = _mm_shuffle_epi8(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + group), byte_swap);
      } else {
        const __m128i last = schedule[(group + 3) & 3];
        const __m128i seven_back = _mm_alignr_epi8(last, schedule[(group + 2) & 3], 4);
        const __m128i with_sigma0 = _mm_sha256msg1_epu32(current, schedule[(group + 1) & 3]);
        current = _mm_sha256msg2_epu32(_mm_add_epi32(with_sigma0, seven_back), last);
      }
      const __m128i keyed = _mm_add_epi32(current, _mm_load_si128(constants + group));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, keyed);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(keyed, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }

  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

bool CpuHasShaInstructions() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
  const bool sse = (ecx & bit_SSSE3) != 0 && (ecx & bit_SSE4_1) != 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kShaBit = 1u << 29;
  return sse && (ebx & kShaBit) != 0;
}

#endif

using Compress = void (*)(uint32_t* state, const uint8_t* blocks, size_t block_count);

Compress ChooseCompress() {
#if defined(__x86_64__)
  if (CpuHasShaInstructions()) return CompressShaInstructions;
#endif
  return CompressScalar;
}

void CompressBlocks(uint32_t* state, const uint8_t* blocks, size_t block_count) {
  static const Compress compress = ChooseCompress();
  compress(state, blocks, block_count);
}

std::string_view Bytes(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

namespace internal {

// For tests, which hold the two against each other.
void CompressSha256Scalar(uint32_t* state, const uint8_t* blocks, size_t block_count) {
  CompressScalar(state, blocks, block_count);
}

}  // namespace internal

Sha256::Sha256() noexcept : state_(kInitialState) {}

void Sha256::Update(std::string_view bytes) noexcept {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t size = bytes.size();
  total_size_ += size;
  if (block_size_ > 0) {
    const size_t taken = std::min(size, kBlockSize - block_size_);
    if (taken > 0) std::memcpy(block_.data() + block_size_, data, taken);
    block_size_ += taken;
    data += taken;
    size -= taken;
    if (block_size_ < kBlockSize) return;
    CompressBlocks(state_.data(), block_.data(), 1);
    block_size_ = 0;
  }
  const size_t whole = size / kBlockSize;
  if (whole > 0) CompressBlocks(state_.data(), data, whole);
  const size_t rest = size % kBlockSize;
  if (rest > 0) std::memcpy(block_.data(), data + whole * kBlockSize, rest);
  block_size_ = rest;
}

Digest Sha256::Finish() noexcept {
  const uint64_t bit_count = total_size_ * 8;
  block_[block_size_++] = 0x80;
  if (block_size_ > kBlockSize - sizeof(bit_count)) {
    std::fill(block_.begin() + static_cast<ptrdiff_t>(block_size_), block_.end(), uint8_t{0});
    CompressBlocks(state_.data(), block_.data(), 1);
    block_size_ = 0;
  }
  std::fill(block_.begin() + static_cast<ptrdiff_t>(block_size_), block_.end(), uint8_t{0});
  for (size_t i = 0; i < sizeof(bit_count); ++i) {
    block_[kBlockSize - 1 - i] = static_cast<uint8_t>(bit_count >> (8 * i));
  }
  CompressBlocks(state_.data(), block_.data(), 1);
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

Digest HashBytes(std::string_view bytes) noexcept {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

Digest HmacSha256(std::string_view key, std::string_view message) noexcept {
  std::array<uint8_t, kBlockSize> padded{};
  if (key.size() > kBlockSize) {
    const Digest shorter = HashBytes(key);
    std::copy(shorter.begin(), shorter.end(), padded.begin());
  } else {
    std::copy(key.begin(), key.end(), padded.begin());
  }
  std::array<uint8_t, kBlockSize> inner_pad;
  std::array<uint8_t, kBlockSize> outer_pad;
  for (size_t i = 0; i < kBlockSize; ++i) {
    inner_pad[i] = padded[i] ^ uint8_t { 0x36 };
    outer_pad[i] = padded[i] ^ uint8_t { 0x5c };
  }
  Sha256 inner;
  inner.Update(Bytes(inner_pad.data(), inner_pad.size()));
  inner.Update(message);
  const Digest inner_digest = inner.Finish();
  Sha256 outer;
  outer.Update(Bytes(outer_pad.data(), outer_pad.size()));
  outer.Update(AsBytes(inner_digest));
  return outer.Finish();
}

std::string_view AsBytes(const Digest& digest) noexcept {
  return Bytes(digest.data(), digest.size());
}

std::string ToHex(const Digest& digest) {
  return ToHex(AsBytes(digest));
}

std::string ToHex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

}  // namespace reenact::schema
