// Content encodings as servers and clients make them.

#ifndef REENACT_TESTS_SUPPORT_CONTENT_ENCODINGS_H_
#define REENACT_TESTS_SUPPORT_CONTENT_ENCODINGS_H_

#include <string>
#include <string_view>

namespace reenact::testing {

// `text` in "gzip", "deflate", "br" or "zstd"; as it is for "identity".
std::string Encoded(std::string_view text, std::string_view encoding);
// Without the header of zlib, as some servers send for "deflate".
std::string RawDeflated(std::string_view text);

// A frame of application/vnd.amazon.eventstream: lengths, headers, payload, and their checksums.
std::string AmazonFrame(std::string_view event_type, std::string_view payload);

}  // namespace reenact::testing

#endif  // REENACT_TESTS_SUPPORT_CONTENT_ENCODINGS_H_
