// Header lines, as a curl_slist holds them and as libcurl hands them out.

#ifndef REENACT_INTERNAL_CURL_HEADERS_HPP_
#define REENACT_INTERNAL_CURL_HEADERS_HPP_

#include <cstdlib>
#include <string>
#include <string_view>

#include "reenact/values.hpp"

namespace reenact::internal {

// Adds "name: value" to `headers`. A line without a colon is none.
inline void AddHeaderLine(std::string_view line, Headers* headers) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  headers->emplace_back(line.substr(0, colon), value);
}

// The status and headers of an answer, line by line. A status line begins them anew: those of
// interim answers, redirects and proxies are forgotten when the next one comes.
class HeaderBlock {
 public:
  void TakeLine(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    if (line.compare(0, 5, "HTTP/") != 0) return AddHeaderLine(line, &headers_);
    headers_.clear();
    const size_t space = line.find(' ');
    status_ = space == std::string_view::npos
                  ? 0
                  : std::strtol(std::string(line.substr(space + 1)).c_str(), nullptr, 10);
  }

  long status() const { return status_; }  // 0: none came.

  const Headers& headers() const { return headers_; }

 private:
  long status_ = 0;
  Headers headers_;
};

}  // namespace reenact::internal

#endif  // REENACT_INTERNAL_CURL_HEADERS_HPP_
