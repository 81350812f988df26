// Undoes a content coding, so that a body can be searched for secrets.

#ifndef REENACT_STORE_FORMAT_INFLATE_H_
#define REENACT_STORE_FORMAT_INFLATE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace reenact::store {

inline constexpr size_t kMaxInflated = size_t{64} << 20;

enum class Coding {
  kNone,
  kGzip,
  kDeflate,
  kZstd,
  kOpaque,  // brotli, several at once, one that we do not know.
};

// Of a content-encoding header's value (empty: none) and the first bytes of the body, which tell
// gzip even without a header.
Coding CodingOf(std::string_view content_encoding, std::string_view body);

struct Inflated {
  std::string bytes;
  bool whole = false;     // The stream's own end was reached.
  bool too_long = false;  // Stopped at kMaxInflated.
};

// What could be decoded; a body that was cut in transit yields its beginning. Empty `bytes` and not
// whole: this is no such stream.
Inflated Inflate(Coding coding, std::string_view body);

}  // namespace reenact::store

#endif  // REENACT_STORE_FORMAT_INFLATE_H_
