// Sends a run's recorded input to a service on this machine, as its first caller did.

#ifndef REENACT_REPLAYER_INTERNAL_DRIVE_H_
#define REENACT_REPLAYER_INTERNAL_DRIVE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

#include "schema/record.h"

namespace reenact::replayer {

struct DriveRequest {
  std::string method;  // "POST"
  std::string url;
  std::string body;
  std::string content_type;  // Of the body; empty where there is no body.
};

// From an entry such as "POST /refund" and a base URL such as "http://127.0.0.1:8080"; a URL with a
// path of its own keeps it. An entry of another form is POSTed to the URL. Errors: InvalidArgument
// for a URL that is none, or whose host is not loopback.
absl::StatusOr<DriveRequest> PlanDrive(const std::string& drive_url, const schema::Run& run);

// True when somebody accepts connections there now.
bool IsListening(const DriveRequest& request);

struct DriveResult {
  bool answered = false;
  int64_t http_status = 0;
  std::string error;  // When not answered.
};

// Sends it as soon as the service listens, and waits for the answer, which is not kept. Asks
// `go_on` several times a second, and gives up when it says false.
DriveResult SendDrive(const DriveRequest& request, const std::function<bool()>& go_on);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_DRIVE_H_
