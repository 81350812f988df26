// Header lines as a provider sends them: none is lost, what may be stored holds no credential.

#include "reenact/internal/curl_headers.hpp"
#include "schema/redaction.h"
#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz::http_headers {

void FuzzOne(std::string_view bytes) {
  internal::HeaderBlock block;
  size_t colons = 0;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end == std::string_view::npos ? end : end + 1);
    rest.remove_prefix(line.size());
    block.TakeLine(line);
    if (line.starts_with("HTTP/")) {
      colons = 0;
    } else if (line.find(':') != std::string_view::npos) {
      ++colons;
    }
  }
  if (block.headers().size() != colons) Broken("a header was lost");
  schema::Headers headers;
  for (const auto& [name, value] : block.headers()) headers.emplace_back(name, value);
  const schema::Headers allowed = schema::AllowedHeaders(headers);
  for (const auto& [name, value] : allowed) {
    if (schema::IsSecretHeader(name)) Broken("stored: " + name);
  }
  if (schema::AllowedHeaders(allowed) != allowed) Broken("what is allowed is not");
  for (const auto& [name, value] : headers) {
    const std::string_view credential = schema::CredentialIn(value);
    if (value.find(credential) == std::string::npos) Broken("a credential that was not sent");
  }
  if (block.status() != 0 && !allowed.empty()) Reached();
}

std::vector<std::string> Seeds() {
  return {
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id:  r1\r\n"
      "openai-processing-ms: 12\r\nSet-Cookie: a=b\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/2 429\r\nretry-after: 2\r\nretry-after: 3\r\n"
      "x-ratelimit-remaining-requests:0\r\n\r\n",
      "HTTP/1.0 99999999999999999999 x\nAuthorization: Bearer abc\nno colon\n: empty\n"
      "content-type:\n"};
}

std::vector<std::string> Tokens() {
  return {"HTTP/1.1 ",
          "HTTP/",
          "\r\n",
          ":",
          ": ",
          "Bearer ",
          "Basic ",
          "content-type",
          "x-request-id",
          "authorization",
          "x-api-key",
          "retry-after",
          "\t"};
}

const bool added = AddTarget({"http_headers", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::http_headers
