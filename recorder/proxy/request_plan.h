// What becomes of a request before it goes to its upstream: somebody may change it, or answer it in
// the upstream's place. Requests are then held until they are whole.

#ifndef REENACT_RECORDER_PROXY_REQUEST_PLAN_H_
#define REENACT_RECORDER_PROXY_REQUEST_PLAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/proxy/http_head.h"
#include "reenact/values.hpp"
#include "schema/dialect.h"
#include "schema/record.h"

namespace reenact::proxy {

struct WholeRequest {
  std::string_view method;
  std::string_view target;  // A path, "/NAME/..." for a route; else the whole URL.
  const schema::CallKind* kind = nullptr;
  std::string_view body;  // Without content encoding, where that could be undone.
  // False: it was too large to be kept; `body` is empty, and a change of it is not made.
  bool is_kept = true;
};

// An answer that needs no upstream. It is recorded as if it had come from one.
struct GivenAnswer {
  int status = 0;  // 0: there is none; the connection is closed.
  Headers headers;
  std::optional<uint64_t> content_length;  // As its head said; absent: it came in chunks.
  std::vector<std::string> pieces;         // Of the body; one read each.
  // Other than complete: the connection is closed after the pieces; abandoned_by_caller: left open,
  // until the client goes.
  EndState end = EndState::kComplete;
  // Told once how it went: bytes of the body, and false where the client left first.
  std::function<void(uint64_t bytes, bool whole)> done;
};

struct RequestPlan {
  std::optional<std::string> body;  // Sent in the place of the client's, without encoding.
  schema::Tags facts;               // For the event.
  std::optional<GivenAnswer> answer;
  std::function<void(int status)> answered;  // Told of the upstream's answer; may be empty.
  bool is_recorded = true;
};

// Called on the proxy's thread.
class RequestPlanner {
 public:
  virtual ~RequestPlanner() = default;
  virtual RequestPlan Plan(const WholeRequest& request) = 0;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_REQUEST_PLAN_H_
