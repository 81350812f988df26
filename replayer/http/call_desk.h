// Between HTTP and the replay session: what a request is called, and which attempt of which record
// answers it. All matching is the session's.

#ifndef REENACT_REPLAYER_HTTP_CALL_DESK_H_
#define REENACT_REPLAYER_HTTP_CALL_DESK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/http/http_answer.h"
#include "replayer/replay_session.h"
#include "schema/recorded_command.h"

namespace reenact::replayer {

struct HttpQuestion {
  std::string method;
  std::string target;  // As the request line has it: a path, or a whole URL.
  std::string body;
};

struct HttpReply {
  HttpAnswer answer;
  uint64_t token = 0;           // To be given back to Done; 0: nothing is waiting for it.
  std::optional<size_t> event;  // Of the tape, by index; absent: it is no recorded answer.
};

// Threads: all functions may be called from any thread.
class CallDesk {
 public:
  // `session` must outlive it, and its run must have begun.
  CallDesk(ReplaySession* session, std::vector<schema::CommandRoute> routes);

  // A record of several attempts answers as many requests, of equal key.
  HttpReply Ask(const HttpQuestion& question);
  // Where Ask would take the answer from in a fork; see ReplaySession::SourceOf.
  AnswerSource SourceOf(const HttpQuestion& question, const ForkPoint& fork) const;
  // `sent`: bytes of the answer's body that were taken by the client. `whole`: all of it was, and
  // the client did not leave first.
  void Done(uint64_t token, uint64_t sent, bool whole);

  int64_t asked() const;
  // Replies whose Done is still to come.
  int64_t under_way() const;

 private:
  // A record of which some attempts are still to be asked for.
  struct OpenCall {
    std::shared_ptr<const schema::OnTape> call;
    schema::Digest request{};
    size_t next_attempt = 0;
    uint64_t consumed = 0;

    // Attempts are left, and this is a request for one.
    bool IsAwaiting(const schema::Digest& question) const;
  };

  struct Place {
    schema::BeginCall call;
    schema::CallKind kind;
  };

  static schema::Digest DigestOf(const HttpQuestion& question);
  bool IsFurtherAttempt(const HttpQuestion& question) const;
  Place PlaceOf(const HttpQuestion& question) const;
  void MoveToRecord(Place* place) const;
  HttpReply NextAttempt(uint64_t token, OpenCall* open);
  HttpReply Miss(const schema::Diverged& diverged, const Place& place) const;

  ReplaySession* const session_;
  const std::vector<schema::CommandRoute> routes_;
  mutable std::mutex mutex_;           // Guards all that follows.
  std::map<uint64_t, OpenCall> open_;  // By call token.
  int64_t asked_ = 0;
  int64_t under_way_ = 0;
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_HTTP_CALL_DESK_H_
