#include "local_engine/numerics/sha256.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "local_engine/numerics/planted_support_fault.h"
#include "local_engine/numerics/sha256_blocks.h"

namespace reenact::local_engine {
namespace {

Sha256Blocks FastestBlocks() {
  const Sha256Blocks by_instructions = Sha256BlocksByInstructions();
  return by_instructions != nullptr ? by_instructions : Sha256BlocksPlain;
}

}  // namespace

void Sha256::Compress(const uint8_t* blocks, size_t count) {
  static const Sha256Blocks compress = FastestBlocks();
  compress(state_.data(), blocks, count);
}

void Sha256::Update(const void* data, size_t size_bytes) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  total_bytes_ += size_bytes;
  while (size_bytes > 0) {
    if (pending_bytes_ == 0 && size_bytes >= pending_.size()) {
      const size_t blocks = size_bytes / pending_.size();
      Compress(bytes, blocks);
      bytes += blocks * pending_.size();
      size_bytes %= pending_.size();
      if (Planted(SupportFault::kHashDropsTheRest)) return;
      continue;
    }
    const size_t taken = std::min(size_bytes, pending_.size() - pending_bytes_);
    std::memcpy(pending_.data() + pending_bytes_, bytes, taken);
    pending_bytes_ += taken;
    bytes += taken;
    size_bytes -= taken;
    if (pending_bytes_ == pending_.size()) {
      Compress(pending_.data(), 1);
      pending_bytes_ = 0;
    }
  }
}

Sha256Digest Sha256::Finish() {
  const uint64_t bit_count = total_bytes_ * (Planted(SupportFault::kHashCountsBytes) ? 1 : 8);
  const uint8_t one = 0x80;
  const uint8_t zero = 0;
  Update(&one, 1);
  while (pending_bytes_ != 56) Update(&zero, 1);
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(bit_count >> (56 - 8 * i));
  Update(length, sizeof(length));
  Sha256Digest digest;
  for (int i = 0; i < 32; ++i) {
    digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

Sha256Digest Sha256Of(const void* data, size_t size_bytes) {
  Sha256 hash;
  hash.Update(data, size_bytes);
  return hash.Finish();
}

std::string HexText(const Sha256Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace reenact::local_engine
