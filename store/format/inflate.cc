#include "store/format/inflate.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace reenact::store {
namespace {

constexpr size_t kStep = 64 * 1024;

std::string LowerTrimmed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t')
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// Grows `out` by one step, within the limit. False at the limit.
bool Grow(Inflated* out, size_t used) {
  if (used >= kMaxInflated) {
    out->too_long = true;
    return false;
  }
  out->bytes.resize(std::min(kMaxInflated, std::max(out->bytes.size() * 2, kStep)));
  return true;
}

// `window_bits`: 15 + 32 reads gzip and zlib headers, -15 reads neither.
Inflated InflateZlib(std::string_view body, int window_bits) {
  Inflated out;
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) return out;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(std::min<size_t>(body.size(), UINT32_MAX));
  size_t used = 0;
  int code = Z_OK;
  while (code == Z_OK && (used < out.bytes.size() || Grow(&out, used))) {
    const auto room = static_cast<uInt>(out.bytes.size() - used);
    stream.next_out = reinterpret_cast<Bytef*>(out.bytes.data() + used);
    stream.avail_out = room;
    code = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    // Members of a gzip file may follow each other.
    if (code == Z_STREAM_END && window_bits > 0 && stream.avail_in > 0 && *stream.next_in == 0x1f) {
      code = inflateReset(&stream);
    }
  }
  out.whole = code == Z_STREAM_END;
  out.bytes.resize(used);
  inflateEnd(&stream);
  return out;
}

Inflated InflateZstd(std::string_view body) {
  Inflated out;
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx);
  if (context == nullptr) return out;
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, 23);  // 8 MiB, as RFC 8878 asks for.
  ZSTD_inBuffer in{body.data(), body.size(), 0};
  size_t used = 0;
  size_t hint = 1;
  bool stuck = false;
  while (!stuck && (used < out.bytes.size() || Grow(&out, used))) {
    ZSTD_outBuffer piece{out.bytes.data(), out.bytes.size(), used};
    const size_t in_before = in.pos;
    hint = ZSTD_decompressStream(context.get(), &piece, &in);
    if (ZSTD_isError(hint)) break;
    stuck = (piece.pos == used && in.pos == in_before) || (hint == 0 && in.pos == in.size);
    used = piece.pos;
  }
  out.whole = hint == 0 && in.pos == in.size;
  out.bytes.resize(used);
  return out;
}

}  // namespace

Coding CodingOf(std::string_view content_encoding, std::string_view body) {
  const std::string name = LowerTrimmed(content_encoding);
  if (name == "gzip" || name == "x-gzip") return Coding::kGzip;
  if (name == "deflate") return Coding::kDeflate;
  if (name == "zstd") return Coding::kZstd;
  if (!name.empty() && name != "identity") return Coding::kOpaque;
  return body.substr(0, 2) == "\x1f\x8b" ? Coding::kGzip : Coding::kNone;
}

Inflated Inflate(Coding coding, std::string_view body) {
  if (coding == Coding::kZstd) return InflateZstd(body);
  if (coding != Coding::kGzip && coding != Coding::kDeflate) return {};
  Inflated out = InflateZlib(body, 15 + 32);
  // "deflate" should have a zlib header, and sometimes has none.
  if (coding == Coding::kDeflate && out.bytes.empty() && !out.whole) out = InflateZlib(body, -15);
  return out;
}

}  // namespace reenact::store
