// The heads of HTTP messages as the proxy handles them: lists of headers, in order, names as seen.

#ifndef REENACT_RECORDER_PROXY_HTTP_HEAD_H_
#define REENACT_RECORDER_PROXY_HTTP_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reenact::proxy {

using Headers = std::vector<std::pair<std::string, std::string>>;

bool EqualsIgnoringCase(std::string_view a, std::string_view b);
// The value of the first header of this name; empty where there is none.
std::string_view FindHeader(const Headers& headers, std::string_view name);
// True where a header of this name lists `token`: Connection: keep-alive, close.
bool HasToken(const Headers& headers, std::string_view name, std::string_view token);
// Splits "Name: value", without the spaces around the value. Nothing where there is no colon.
std::optional<std::pair<std::string, std::string>> ParseHeaderLine(std::string_view line);

// Without those that concern one connection only (RFC 9110, 7.6.1), those that Connection names
// among them.
Headers EndToEndHeaders(const Headers& headers);

struct AnswerHead {
  int status = 0;
  std::string reason;         // Empty over HTTP/2.
  bool has_version_1 = true;  // HTTP/1.x; else 2.
  Headers headers;            // As they came.
  std::optional<uint64_t> content_length;
  bool chunked = false;
};

// Reads the lines of heads, one call each, as libcurl hands them out: the heads of 1xx answers, the
// head, and after it the trailers.
class AnswerHeadReader {
 public:
  enum class Event { kNone, kInterim, kHead, kTrailer };

  Event Read(std::string_view line);

  // After kInterim and kHead.
  const AnswerHead& head() const { return head_; }

  // After kTrailer.
  const std::pair<std::string, std::string>& trailer() const { return trailer_; }

  bool has_head() const { return finished_; }

 private:
  void ReadStatusLine(std::string_view line);

  AnswerHead head_;
  std::pair<std::string, std::string> trailer_;
  bool finished_ = false;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_HTTP_HEAD_H_
