#include "schema/content_decoder.h"

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "schema/internal/text_classes.h"

namespace reenact::schema {
namespace {

using Piece = std::array<char, 64 << 10>;

class ZlibDecoder final : public ContentDecoder {
 public:
  // zlib tells gzip from zlib by itself; a raw deflate stream, which some servers send for
  // "deflate", has to be guessed.
  explicit ZlibDecoder(bool may_be_raw) : may_be_raw_(may_be_raw) { Init(15 + 32); }

  ~ZlibDecoder() override { inflateEnd(&stream_); }

  bool DecodePieces(std::string_view bytes, const BoundedSink& sink) override {
    if (may_be_raw_ && !bytes.empty()) {
      may_be_raw_ = false;
      // CM of a zlib header is 8.
      if ((static_cast<unsigned char>(bytes[0]) & 0x0f) != 8) {
        inflateEnd(&stream_);
        Init(-15);
      }
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    Piece piece;
    for (;;) {
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream_.avail_out = static_cast<uInt>(piece.size());
      const int code = inflate(&stream_, Z_NO_FLUSH);
      const size_t made = piece.size() - stream_.avail_out;
      if (made != 0 && !sink({piece.data(), made})) return false;
      if (code == Z_STREAM_END) {
        // A gzip file may have several members.
        if (stream_.avail_in == 0) return true;
        if (inflateReset(&stream_) != Z_OK) return false;
      } else if (code == Z_BUF_ERROR) {
        return true;  // All is read.
      } else if (code != Z_OK) {
        return false;
      } else if (stream_.avail_in == 0 && stream_.avail_out != 0) {
        return true;
      }
    }
  }

 private:
  void Init(int window_bits) {
    stream_ = {};
    if (inflateInit2(&stream_, window_bits) != Z_OK) throw std::bad_alloc();
  }

  z_stream stream_{};
  bool may_be_raw_;
};

class BrotliDecoder final : public ContentDecoder {
 public:
  BrotliDecoder() : state_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {
    if (state_ == nullptr) throw std::bad_alloc();
  }

  ~BrotliDecoder() override { BrotliDecoderDestroyInstance(state_); }

  bool DecodePieces(std::string_view bytes, const BoundedSink& sink) override {
    auto next_in = reinterpret_cast<const uint8_t*>(bytes.data());
    size_t in_left = bytes.size();
    Piece piece;
    for (;;) {
      auto next_out = reinterpret_cast<uint8_t*>(piece.data());
      size_t out_left = piece.size();
      const BrotliDecoderResult result =
          BrotliDecoderDecompressStream(state_, &in_left, &next_in, &out_left, &next_out, nullptr);
      const size_t made = piece.size() - out_left;
      if (made != 0 && !sink({piece.data(), made})) return false;
      if (result == BROTLI_DECODER_RESULT_ERROR) return false;
      if (result != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) return in_left == 0;
    }
  }

 private:
  BrotliDecoderState* const state_;
};

class ZstdDecoder final : public ContentDecoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }

  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  bool DecodePieces(std::string_view bytes, const BoundedSink& sink) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    Piece piece;
    for (;;) {
      ZSTD_outBuffer out{piece.data(), piece.size(), 0};
      const size_t code = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(code) != 0) return false;
      if (out.pos != 0 && !sink({piece.data(), out.pos})) return false;
      if (in.pos == in.size && out.pos < out.size) return true;
    }
  }

 private:
  ZSTD_DStream* const stream_;
};

}  // namespace

std::unique_ptr<ContentDecoder> ContentDecoder::For(std::string_view content_encoding) {
  const auto is = [&](std::string_view name) {
    return internal::EqualsIgnoringCase(content_encoding, name);
  };
  if (is("gzip") || is("x-gzip")) return std::make_unique<ZlibDecoder>(false);
  if (is("deflate")) return std::make_unique<ZlibDecoder>(true);
  if (is("br")) return std::make_unique<BrotliDecoder>();
  if (is("zstd")) return std::make_unique<ZstdDecoder>();
  return nullptr;
}

bool ContentDecoder::Decode(std::string_view bytes, const Sink& sink) {
  return DecodePieces(bytes, [&](std::string_view piece) {
    decoded_bytes_ += piece.size();
    if (decoded_bytes_ > kMostDecodedBytes) return false;
    sink(piece);
    return true;
  });
}

std::string DecodedBody(std::string_view body, std::string_view content_encoding, bool* decoded) {
  *decoded = false;
  const std::unique_ptr<ContentDecoder> decoder = ContentDecoder::For(content_encoding);
  if (!decoder) return std::string(body);
  std::string out;
  *decoded = decoder->Decode(body, [&](std::string_view piece) { out += piece; });
  return *decoded ? out : std::string(body);
}

}  // namespace reenact::schema
