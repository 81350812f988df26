// A loopback HTTP server that answers as the recorded upstreams did: status, headers, reads as they
// were cut, retries, and how each answer ended. A thin mouth on a ReplaySession, for programs in
// any language. HTTP/1.1 and 1.0; any number of connections, one thread.
//
// Serves 127.0.0.1 only, and refuses requests whose Host is another: a page in a browser cannot
// read a tape. Asks nothing of anybody.

#ifndef REENACT_REPLAYER_HTTP_ANSWER_SERVER_H_
#define REENACT_REPLAYER_HTTP_ANSWER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/replay_session.h"
#include "schema/recorded_command.h"

namespace reenact::replayer {

// When what was recorded is sent again.
enum class AnswerPace : uint8_t {
  kAtOnce,         // As soon as it is asked for.
  kRecordedOrder,  // In the order that it had among answers that overlapped; see AnswerOrder.
  kRecordedTime,   // No sooner after the request than when it was recorded.
};

struct AnswerServerOptions {
  std::vector<schema::CommandRoute>
      routes;  // As recorded; paths of no route are taken as they are.
  AnswerPace pace = AnswerPace::kAtOnce;
  uint16_t port = 0;  // 0: any free one.
};

class AnswerServer {
 public:
  // `session` must outlive the server, and its run must have begun.
  // Errors: Unavailable, with the port.
  static absl::StatusOr<std::unique_ptr<AnswerServer>> Start(ReplaySession* session,
                                                             const AnswerServerOptions& options);
  ~AnswerServer();  // Cuts off what is under way.

  std::string url() const;  // "http://127.0.0.1:41234"
  int64_t asked() const;    // Requests for an answer, whether or not there was one.
  // Waits until each answer was written, or its client has gone. False: `timeout_ms` passed.
  bool Drain(int64_t timeout_ms);

 private:
  struct Impl;
  AnswerServer();
  std::unique_ptr<Impl> impl_;
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_HTTP_ANSWER_SERVER_H_
