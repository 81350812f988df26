// One POST over libcurl, and what came back of it. No retries, no reading of answers.

#ifndef REENACT_REPLAYER_RERUN_INTERNAL_HTTP_ATTEMPT_H_
#define REENACT_REPLAYER_RERUN_INTERNAL_HTTP_ATTEMPT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "schema/exchange.h"
#include "schema/proxy_settings.h"

namespace reenact::rerun {

struct HttpPost {
  std::string url;
  schema::Headers headers;
  const std::string* body = nullptr;
  int64_t timeout_ms = 0;
  int64_t connect_timeout_ms = 0;
  size_t largest_answer_bytes = 0;
  const std::function<bool()>* interrupted = nullptr;  // May hold nothing.
};

// How the transfer ended, whatever the server said.
enum class TransferEnd : uint8_t {
  kWhole,
  kUnreachable,  // Before any byte of an answer.
  kBroken,       // Within it.
  kTimedOut,
  kInterrupted,
  kTooLarge,
};

struct HttpResult {
  TransferEnd end = TransferEnd::kUnreachable;
  std::string error;  // libcurl's words; empty where it is whole.
  int32_t status = 0;
  schema::Headers headers;  // As seen, of the answer itself.
  std::string body;
  schema::Exchange exchange;  // With its headers.
  int64_t elapsed_ns = 0;
  std::string proxy;  // Of the environment, that it went through: "host:port"; empty: straight.

  // The value of the last header of this name, in any case; empty where there is none.
  std::string Header(std::string_view name) const;
};

// Connections that are used again, straight or through the environment's proxies. Threads: Post may
// be called from any thread.
class HttpClient {
 public:
  HttpClient();
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  HttpResult Post(const HttpPost& post);

 private:
  const schema::ProxySettings proxies_ = schema::ProxySettings::OfEnvironment();
  std::mutex mutex_;
  std::vector<void*> idle_;  // Easy handles of libcurl.
};

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_INTERNAL_HTTP_ATTEMPT_H_
