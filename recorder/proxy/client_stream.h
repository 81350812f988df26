// A client as an exchange sees it: what it asked, and where its answer is written to.

#ifndef REENACT_RECORDER_PROXY_CLIENT_STREAM_H_
#define REENACT_RECORDER_PROXY_CLIENT_STREAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "recorder/proxy/http_head.h"

namespace reenact::proxy {

struct ClientRequest {
  std::string method;
  std::string target;  // As sent.
  bool is_version_1_1 = true;
  Headers headers;
  std::optional<uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = true;

  bool has_body() const { return chunked || content_length.value_or(0) != 0; }

  bool awaits_continue() const { return has_body() && HasToken(headers, "expect", "100-continue"); }
};

// The client's side of an exchange.
class ClientStream {
 public:
  virtual ~ClientStream() = default;
  // Sends as soon as what was written before is sent.
  virtual void Write(std::string_view bytes) = 0;
  // False: enough is waiting to be sent; Exchange::OnClientRoom follows.
  virtual bool has_room() const = 0;
  // The exchange has room for bytes of the request. May be called when there are none.
  virtual void WantRequestBytes() = 0;
  // The answer is whole, or will never be; ends the exchange. Without `keep_alive` the connection
  // is closed once all is sent.
  virtual void AnswerDone(bool keep_alive) = 0;
  // The answer broke off with a reset, and does so for the client: an answer that ends with its
  // connection would pass for whole. Ends the exchange.
  virtual void AnswerReset() = 0;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_CLIENT_STREAM_H_
