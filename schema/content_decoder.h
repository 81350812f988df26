// Undoes Content-Encoding, as bytes arrive: what is stored can then be searched for secrets,
// compared and shown, and a request is matched by what it says, however it was compressed.
//
// A library of its own, which hosts do not link: it needs brotli.

#ifndef REENACT_SCHEMA_CONTENT_DECODER_H_
#define REENACT_SCHEMA_CONTENT_DECODER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace reenact::schema {

// A few kilobytes can stand for gigabytes. What decodes to more than this is left as it came.
inline constexpr uint64_t kMostDecodedBytes = uint64_t{256} << 20;

class ContentDecoder {
 public:
  using Sink = std::function<void(std::string_view)>;

  // For "gzip", "deflate", "br" or "zstd". Null: nothing that can be undone here.
  static std::unique_ptr<ContentDecoder> For(std::string_view content_encoding);
  virtual ~ContentDecoder() = default;

  // Hands out, in pieces of bounded size, all that these bytes decode to. False: they are not what
  // was said, or with those before them decode to more than kMostDecodedBytes; the decoder is of no
  // further use.
  bool Decode(std::string_view bytes, const Sink& sink);

 protected:
  // False from it: enough.
  using BoundedSink = std::function<bool(std::string_view)>;

 private:
  virtual bool DecodePieces(std::string_view bytes, const BoundedSink& sink) = 0;

  uint64_t decoded_bytes_ = 0;
};

// The body without its content encoding, where that can be undone; else as it is, and `*decoded`
// false.
std::string DecodedBody(std::string_view body, std::string_view content_encoding, bool* decoded);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_CONTENT_DECODER_H_
