// How the bytes of a body are stored: as they are, as a zstd frame, or as a zstd frame that has an
// earlier body as its prefix. A conversation sends its whole history with every request; with the
// request before it as prefix, a frame holds only what is new, byte for byte reversible.

#ifndef REENACT_STORE_FORMAT_BODY_CODEC_H_
#define REENACT_STORE_FORMAT_BODY_CODEC_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace reenact::store {

// Values are stored; never renumber.
enum class BodyCodec : uint8_t { kPlain = 0, kZstd = 1, kZstdPrefix = 2 };

// Bodies up to this many bytes are never compressed on their own.
inline constexpr size_t kPlainBodyBytes = 96;
// A longer body is nobody's prefix.
inline constexpr size_t kMaxPrefixBytes = size_t{2} << 20;
// Frames between a body and the one that needs no base. Decoding refuses longer chains.
inline constexpr int kMaxPrefixLinks = 16;
// Decoding refuses bodies that claim to be larger.
inline constexpr uint64_t kMaxBodyBytes = uint64_t{1} << 30;

struct BodyFrame {
  BodyCodec codec = BodyCodec::kPlain;
  int64_t base = 0;  // Ordinal of the prefix body; 0 unless kZstdPrefix.
  uint64_t raw_size = 0;
  std::string bytes;  // Of the frame.
};

// Compresses; keeps its contexts between calls. One thread.
class BodyEncoder {
 public:
  explicit BodyEncoder(int compression_level);
  ~BodyEncoder();

  // Encodes `bytes`, with `prefix` (may be empty; at most kMaxPrefixBytes) as what the decoder will
  // have at hand. The result is kPlain where compression does not pay, and never larger than
  // `bytes`. `frame->base` is left to the caller. False: no memory.
  bool Encode(std::string_view bytes, std::string_view prefix, BodyFrame* frame);

  // A column that is compressed where that pays: empty stays empty, else a byte 0 and the bytes, or
  // a byte 1, the raw size as a varint, and a zstd frame. False: no memory.
  bool Pack(std::string_view bytes, std::string* packed);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads the row of one body. False with one sentence in `*why` when there is none, or it cannot be
// read.
using FetchFrame = std::function<bool(int64_t ordinal, BodyFrame* frame, std::string* why)>;

// Decompresses, base by base. Keeps the bodies it decoded last (32 MiB in all), so that reading the
// events of a run in order costs each body once. Bodies of one file only. One thread.
class BodyDecoder {
 public:
  BodyDecoder();
  ~BodyDecoder();

  // The bytes of body `ordinal`, exactly raw_size of them. False with one sentence in `*why` that
  // names the body which is damaged, missing, too large, or part of a chain that is too long or a
  // circle. The frames are untrusted: what comes out must still be checked against the row's
  // digest.
  bool Decode(int64_t ordinal, const FetchFrame& fetch, std::string* bytes, std::string* why);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads a column that BodyEncoder::Pack wrote. False when it is not that, or holds more than
// `max_bytes`.
bool Unpack(std::string_view packed, size_t max_bytes, std::string* bytes);

}  // namespace reenact::store

#endif  // REENACT_STORE_FORMAT_BODY_CODEC_H_
