// Undoes Content-Encoding for the record, as bytes arrive: what is stored can then be searched for
// secrets, compared and shown. What the client gets stays encoded.

#ifndef REENACT_RECORDER_PROXY_CONTENT_DECODER_H_
#define REENACT_RECORDER_PROXY_CONTENT_DECODER_H_

#include <functional>
#include <memory>
#include <string_view>

namespace reenact::proxy {

class ContentDecoder {
 public:
  using Sink = std::function<void(std::string_view)>;

  // For "gzip", "deflate", "br" or "zstd". Null: nothing that can be undone here.
  static std::unique_ptr<ContentDecoder> For(std::string_view content_encoding);
  virtual ~ContentDecoder() = default;

  // Hands out, in pieces of bounded size, all that these bytes decode to. False: they are not what
  // was said; the decoder is of no further use.
  virtual bool Decode(std::string_view bytes, const Sink& sink) = 0;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_CONTENT_DECODER_H_
