// What libcurl says of a transfer, and the end state that stands for it in a record.

#ifndef REENACT_INTERNAL_CURL_CODES_HPP_
#define REENACT_INTERNAL_CURL_CODES_HPP_

#include <curl/curl.h>

#include <cstdlib>
#include <string>

#include "reenact/values.hpp"

namespace reenact::internal {

inline EndState CurlEndState(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return EndState::kComplete;
    case CURLE_PARTIAL_FILE:
      return EndState::kTruncated;
    case CURLE_WRITE_ERROR:
    case CURLE_ABORTED_BY_CALLBACK:
      return EndState::kAbandonedByCaller;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_HTTP3:
      return EndState::kReset;
    default:
      return EndState::kError;
  }
}

// The detail of the end of a call: "curl 56: Failure when receiving data from the peer".
inline std::string CurlDetail(CURLcode code) {
  return "curl " + std::to_string(static_cast<int>(code)) + ": " + curl_easy_strerror(code);
}

// The code that a recorded end stands for, read back from its detail where that has one.
inline CURLcode CurlCode(EndState state, const std::string& detail) {
  if (state == EndState::kComplete) return CURLE_OK;
  const size_t mark = detail.find("curl ");
  if (mark != std::string::npos) {
    const long code = std::strtol(detail.c_str() + mark + 5, nullptr, 10);
    if (code > 0 && code < CURL_LAST) return static_cast<CURLcode>(code);
  }
  switch (state) {
    case EndState::kTruncated:
      return CURLE_PARTIAL_FILE;
    case EndState::kAbandonedByCaller:
      return CURLE_WRITE_ERROR;
    default:
      return CURLE_RECV_ERROR;
  }
}

}  // namespace reenact::internal

#endif  // REENACT_INTERNAL_CURL_CODES_HPP_
