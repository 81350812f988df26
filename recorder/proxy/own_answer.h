// What the proxy answers by itself, in the form that clients of model providers read as an error.

#ifndef REENACT_RECORDER_PROXY_OWN_ANSWER_H_
#define REENACT_RECORDER_PROXY_OWN_ANSWER_H_

#include <string>
#include <string_view>

#include "recorder/proxy/http_head.h"

namespace reenact::proxy {

struct TransferEnd;

struct OwnAnswer {
  int status = 0;
  std::string code;  // "upstream_unreachable"; also in the body and in the header x-reenact-proxy.
  Headers headers;   // With Content-Length.
  std::string body;

  // The whole answer as it goes to a client.
  std::string Serialize(std::string_view method, bool keep_alive) const;
};

// An error: {"error":{"message":"reenact proxy: ...","type":"proxy_error",...}}. Statuses that
// clients try again are for failures that may pass; the others say x-should-retry: false.
OwnAnswer MakeOwnError(int status, std::string code, std::string_view message);
OwnAnswer MakeOwnJson(std::string body);
// 502 or 504 for an upstream that gave no answer, 403 for one that may not be reached.
OwnAnswer AnswerForFailure(std::string_view host, const TransferEnd& end);

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_OWN_ANSWER_H_
