#include "recorder/proxy/transfer.h"

#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <string_view>

#include "recorder/proxy/address_rules.h"

namespace reenact::proxy {
namespace {

// A pooled connection that has been idle for longer is not used again, lest the upstream closes it
// just then: what is lost on it is lost for the client. As long as Node's own client keeps one;
// servers often close theirs after 5 s.
constexpr long kPooledSeconds = 4;

// RFC 9110, 9.2.2: others are not to be sent twice by anybody but the client.
bool IsIdempotent(std::string_view method) {
  constexpr std::string_view kIdempotent[] = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"};
  return std::find(std::begin(kIdempotent), std::end(kIdempotent), method) != std::end(kIdempotent);
}

}  // namespace

Transfer::Transfer(CurlLoop* loop, RequestBody* body, TransferListener* listener)
    : loop_(loop), body_(body), listener_(listener), easy_(curl_easy_init()) {
  if (easy_ == nullptr) throw std::bad_alloc();
}

Transfer::~Transfer() {
  loop_->Remove(easy_);
  curl_easy_cleanup(easy_);
  curl_slist_free_all(header_list_);
}

void Transfer::Start(const UpstreamRequest& request, const UpstreamOptions& options) {
  Prepare(request, options);
  if (!loop_->Add(easy_, [this](CURLcode code) { Finish(code); })) throw std::bad_alloc();
}

void Transfer::Resume() {
  loop_->Resume(easy_);
}

void Transfer::Prepare(const UpstreamRequest& request, const UpstreamOptions& options) {
  own_port_ = options.own_port;
  curl_easy_setopt(easy_, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_2TLS});
  curl_easy_setopt(easy_, CURLOPT_HTTP_CONTENT_DECODING, 0L);
  curl_easy_setopt(easy_, CURLOPT_HTTP09_ALLOWED, 0L);
  curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy_, CURLOPT_MAXAGE_CONN, kPooledSeconds);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_ms));
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_);
  if (!options.ca_file.empty()) {
    curl_easy_setopt(easy_, CURLOPT_CAINFO, options.ca_file.c_str());
    curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
  }
  SetProxy(request, options);
  SetMethod(request);
  SetHeaders(request);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &Transfer::OnHeaderLine);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Transfer::OnBodyBytes);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy_, CURLOPT_OPENSOCKETFUNCTION, &Transfer::OpenSocket);
  curl_easy_setopt(easy_, CURLOPT_OPENSOCKETDATA, this);
}

void Transfer::SetProxy(const UpstreamRequest& request, const UpstreamOptions& options) {
  std::string proxy = options.proxies.For(request.url);
  proxy_address_ = schema::ProxyAddress(proxy);
  // Where this one is the environment's proxy it is not its own. An address to which nothing may
  // go is met by the rule in OpenSocket, not asked of a neighbour.
  const bool is_own = IsLoopbackAuthority(proxy_address_) &&
                      proxy_address_.ends_with(":" + std::to_string(options.own_port));
  if (is_own || IsForbiddenUrl(request.url)) {
    proxy.clear();
    proxy_address_.clear();
  }
  // Set though they are empty: libcurl would read the environment in its own way.
  curl_easy_setopt(easy_, CURLOPT_PROXY, proxy.c_str());
  curl_easy_setopt(easy_, CURLOPT_NOPROXY, "");
}

void Transfer::SetMethod(const UpstreamRequest& request) {
  idempotent_ = IsIdempotent(request.method);
  // Before libcurl sends a body again it asks OnSeek; without one only a new connection keeps it
  // from sending a request twice.
  const bool sends_bytes = request.has_body && request.content_length != uint64_t{0};
  if (!idempotent_ && !sends_bytes) curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
  if (request.has_body) {
    curl_easy_setopt(easy_, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(
        easy_, CURLOPT_INFILESIZE_LARGE,
        request.content_length ? static_cast<curl_off_t>(*request.content_length) : curl_off_t{-1});
    curl_easy_setopt(easy_, CURLOPT_READFUNCTION, &Transfer::OnRead);
    curl_easy_setopt(easy_, CURLOPT_READDATA, this);
    curl_easy_setopt(easy_, CURLOPT_SEEKFUNCTION, &Transfer::OnSeek);
    curl_easy_setopt(easy_, CURLOPT_SEEKDATA, this);
  } else if (request.method == "HEAD") {
    curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
  } else {
    curl_easy_setopt(easy_, CURLOPT_HTTPGET, 1L);
  }
  curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void Transfer::SetHeaders(const UpstreamRequest& request) {
  const auto append = [this](const std::string& line) {
    curl_slist* const longer = curl_slist_append(header_list_, line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    header_list_ = longer;
  };
  for (const auto& [name, value] : request.headers) {
    // "Name:" takes a header away; "Name;" sends one without a value.
    append(value.empty() ? name + ";" : name + ": " + value);
  }
  // What libcurl would add of its own.
  for (const char* own : {"Accept", "User-Agent", "Expect", "Content-Type"}) {
    if (FindHeader(request.headers, own).empty()) append(std::string(own) + ":");
  }
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, header_list_);
}

void Transfer::Finish(CURLcode code) {
  TransferEnd end;
  if (code == CURLE_SEND_FAIL_REWIND) {
    // The connection was a pooled one that died; see OnSeek.
    code = CURLE_GOT_NOTHING;
    error_[0] = '\0';
  }
  end.code = code;
  if (code != CURLE_OK) end.message = error_[0] != '\0' ? error_ : curl_easy_strerror(code);
  end.refused_address = refused_address_;
  listener_->OnEnd(end);
}

size_t Transfer::OnHeaderLine(char* data, size_t size, size_t count, void* self) {
  auto* const transfer = static_cast<Transfer*>(self);
  switch (transfer->head_.Read({data, size * count})) {
    case AnswerHeadReader::Event::kInterim:
      transfer->listener_->OnInterim(transfer->head_.head());
      break;
    case AnswerHeadReader::Event::kHead:
      transfer->listener_->OnHead(transfer->head_.head());
      break;
    case AnswerHeadReader::Event::kTrailer:
      transfer->listener_->OnTrailer(transfer->head_.trailer());
      break;
    case AnswerHeadReader::Event::kNone:
      break;
  }
  return size * count;
}

size_t Transfer::OnBodyBytes(char* data, size_t size, size_t count, void* self) {
  auto* const transfer = static_cast<Transfer*>(self);
  const std::string_view bytes(data, size * count);
  return transfer->listener_->OnBytes(bytes) ? bytes.size() : CURL_WRITEFUNC_PAUSE;
}

size_t Transfer::OnRead(char* buffer, size_t size, size_t count, void* self) {
  auto* const transfer = static_cast<Transfer*>(self);
  const size_t taken = transfer->body_->Read(buffer, size * count);
  transfer->listener_->OnRequestMoves();
  if (taken != 0) return taken;
  return transfer->body_->finished() ? 0 : CURL_READFUNC_PAUSE;
}

int Transfer::OnSeek(void* self, curl_off_t offset, int origin) {
  auto* const transfer = static_cast<Transfer*>(self);
  if (offset != 0 || origin != SEEK_SET || !transfer->idempotent_) return CURL_SEEKFUNC_CANTSEEK;
  return transfer->body_->Rewind() ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_CANTSEEK;
}

curl_socket_t Transfer::OpenSocket(void* self, curlsocktype, curl_sockaddr* address) {
  auto* const transfer = static_cast<Transfer*>(self);
  const SocketAddress resolved(&address->addr, static_cast<socklen_t>(address->addrlen));
  if (resolved.IsForbidden() || resolved.IsLoopbackPort(transfer->own_port_)) {
    transfer->refused_address_ = resolved.text();
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace reenact::proxy
