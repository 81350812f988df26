// One request to an upstream, through libcurl: TLS, HTTP/2, proxies of the environment and pooled
// connections are its. Content stays encoded as it came; transfer coding is undone.

#ifndef REENACT_RECORDER_PROXY_TRANSFER_H_
#define REENACT_RECORDER_PROXY_TRANSFER_H_

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "recorder/proxy/curl_loop.h"
#include "recorder/proxy/http_head.h"
#include "recorder/proxy/request_body.h"
#include "schema/proxy_settings.h"

namespace reenact::proxy {

struct UpstreamRequest {
  std::string method;
  std::string url;
  Headers headers;  // End to end, without Host and Content-Length.
  bool has_body = false;
  std::optional<uint64_t> content_length;  // Absent with a body: sent chunked.
};

struct UpstreamOptions {
  std::string ca_file;  // PEM, instead of the system's authorities; empty: theirs.
  int64_t connect_timeout_ms = 30'000;
  uint16_t own_port = 0;          // Of the proxy, which may not be its own upstream.
  schema::ProxySettings proxies;  // Of the environment: followed as the client would have.
};

struct TransferEnd {
  CURLcode code = CURLE_OK;
  std::string message;          // libcurl's words for this failure, empty when it was none.
  std::string refused_address;  // The proxy's own rules forbade it: "169.254.169.254".
};

// Who hears of a transfer. Called from within libcurl: must not end, resume or start a transfer.
class TransferListener {
 public:
  virtual ~TransferListener() = default;
  virtual void OnInterim(const AnswerHead& head) = 0;
  virtual void OnHead(const AnswerHead& head) = 0;
  // False: no room now; the same bytes come again after Transfer::Resume.
  virtual bool OnBytes(std::string_view bytes) = 0;
  virtual void OnTrailer(const std::pair<std::string, std::string>& trailer) = 0;
  // Bytes of the request are wanted, or were taken.
  virtual void OnRequestMoves() = 0;
  // The last call; not from within libcurl.
  virtual void OnEnd(const TransferEnd& end) = 0;
};

class Transfer {
 public:
  // The body and the listener outlive it.
  Transfer(CurlLoop* loop, RequestBody* body, TransferListener* listener);
  ~Transfer();  // Cuts it off if it is not over.
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // OnEnd follows, whatever happens, but not from within Start.
  void Start(const UpstreamRequest& request, const UpstreamOptions& options);
  // There is room for bytes again, or the request has more of them.
  void Resume();

  // Of the environment's proxy that it goes through, "host:port"; empty: straight to the upstream.
  const std::string& proxy_address() const { return proxy_address_; }

 private:
  void Prepare(const UpstreamRequest& request, const UpstreamOptions& options);
  void SetProxy(const UpstreamRequest& request, const UpstreamOptions& options);
  void SetMethod(const UpstreamRequest& request);
  void SetHeaders(const UpstreamRequest& request);
  void Finish(CURLcode code);

  static size_t OnHeaderLine(char* data, size_t size, size_t count, void* self);
  static size_t OnBodyBytes(char* data, size_t size, size_t count, void* self);
  static size_t OnRead(char* buffer, size_t size, size_t count, void* self);
  static int OnSeek(void* self, curl_off_t offset, int origin);
  static curl_socket_t OpenSocket(void* self, curlsocktype purpose, curl_sockaddr* address);

  CurlLoop* const loop_;
  RequestBody* const body_;
  TransferListener* const listener_;
  CURL* const easy_;
  curl_slist* header_list_ = nullptr;
  AnswerHeadReader head_;
  uint16_t own_port_ = 0;
  std::string proxy_address_;
  bool idempotent_ = false;  // May be sent again where a pooled connection was dead.
  std::string refused_address_;
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_TRANSFER_H_
