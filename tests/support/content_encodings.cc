#include "tests/support/content_encodings.h"

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>

namespace reenact::testing {
namespace {

// `window_bits` as zlib has it: 15 + 16 makes gzip, 15 zlib, -15 neither.
std::string Deflated(std::string_view text, int window_bits) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 256, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Brotli(std::string_view text) {
  std::string out(text.size() + 1024, '\0');
  size_t size = out.size();
  BrotliEncoderCompress(5, 22, BROTLI_MODE_TEXT, text.size(),
                        reinterpret_cast<const uint8_t*>(text.data()), &size,
                        reinterpret_cast<uint8_t*>(out.data()));
  out.resize(size);
  return out;
}

std::string Zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

void AppendBigEndian(size_t value, size_t size, std::string* out) {
  while (size-- > 0) *out += static_cast<char>(value >> (8 * size));
}

void AppendChecksum(std::string* out) {
  const auto* const bytes = reinterpret_cast<const Bytef*>(out->data());
  AppendBigEndian(crc32(0, bytes, static_cast<uInt>(out->size())), 4, out);
}

void AppendHeader(std::string_view name, std::string_view value, std::string* out) {
  constexpr char kString = 7;
  AppendBigEndian(name.size(), 1, out);
  out->append(name) += kString;
  AppendBigEndian(value.size(), 2, out);
  out->append(value);
}

}  // namespace

std::string Encoded(std::string_view text, std::string_view encoding) {
  if (encoding == "gzip") return Deflated(text, 15 + 16);
  if (encoding == "deflate") return Deflated(text, 15);
  if (encoding == "br") return Brotli(text);
  if (encoding == "zstd") return Zstd(text);
  return std::string(text);
}

std::string RawDeflated(std::string_view text) {
  return Deflated(text, -15);
}

std::string AmazonFrame(std::string_view event_type, std::string_view payload) {
  std::string headers;
  AppendHeader(":event-type", event_type, &headers);
  AppendHeader(":content-type", "application/json", &headers);
  AppendHeader(":message-type", "event", &headers);
  constexpr size_t kPreludeAndChecksums = 16;
  std::string frame;
  AppendBigEndian(kPreludeAndChecksums + headers.size() + payload.size(), 4, &frame);
  AppendBigEndian(headers.size(), 4, &frame);
  AppendChecksum(&frame);
  frame.append(headers).append(payload);
  AppendChecksum(&frame);
  return frame;
}

}  // namespace reenact::testing
