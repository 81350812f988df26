// The byte encoding shared by ring records, chunk lists and the replay protocol: LEB128 varints,
// and strings as a length followed by bytes. Reading never runs past the end: a Reader that failed
// once stays failed and yields zeros, so callers check ok() once, at the end.

#ifndef REENACT_SCHEMA_VARINT_H_
#define REENACT_SCHEMA_VARINT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace reenact::schema {

inline constexpr size_t kMaxVarintSize = 10;

// Writes at most kMaxVarintSize bytes; returns their end.
inline char* WriteVarint(char* out, uint64_t value) noexcept {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

inline void PutVarint(std::string* out, uint64_t value) {
  char bytes[kMaxVarintSize];
  out->append(bytes, static_cast<size_t>(WriteVarint(bytes, value) - bytes));
}

// Zigzag: small magnitudes of either sign stay short.
inline uint64_t ZigZag(int64_t value) noexcept {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

inline void PutSigned(std::string* out, int64_t value) {
  PutVarint(out, ZigZag(value));
}

inline void PutString(std::string* out, std::string_view value) {
  PutVarint(out, value.size());
  out->append(value);
}

// The same bytes as the functions above, gathered before they are appended: for code on a caller's
// time. They are all in `*out` after Flush, with which every writing ends.
class Writer {
 public:
  explicit Writer(std::string* out) noexcept : out_(out) {}

  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void Varint(uint64_t value) {
    if (kGathered - used_ < kMaxVarintSize) Flush();
    used_ = static_cast<size_t>(WriteVarint(gathered_ + used_, value) - gathered_);
  }

  void Signed(int64_t value) { Varint(ZigZag(value)); }

  void String(std::string_view value) {
    Varint(value.size());
    if (!value.empty()) Bytes(value);
  }

  void Bytes(std::string_view bytes) {
    if (kGathered - used_ < bytes.size()) {
      Flush();
      if (bytes.size() > kGathered) {
        out_->append(bytes);
        return;
      }
    }
    bytes.copy(gathered_ + used_, bytes.size());
    used_ += bytes.size();
  }

  void Flush() {
    out_->append(gathered_, used_);
    used_ = 0;
  }

 private:
  static constexpr size_t kGathered = 256;

  std::string* out_;
  size_t used_ = 0;
  char gathered_[kGathered];
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) noexcept : rest_(bytes) {}

  uint64_t Varint() noexcept {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      if (byte == 0 && shift > 0) break;  // A longer way to write a number is nobody's encoding.
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    Fail();
    return 0;
  }

  int64_t Signed() noexcept {
    const uint64_t raw = Varint();
    return static_cast<int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
  }

  std::string_view Bytes(uint64_t size) noexcept {
    if (size > rest_.size()) {
      Fail();
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view String() noexcept { return Bytes(Varint()); }

  std::string_view Rest() noexcept { return Bytes(rest_.size()); }

  bool AtEnd() const noexcept { return rest_.empty(); }

  bool ok() const noexcept { return ok_; }

 private:
  void Fail() noexcept {
    ok_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_VARINT_H_
