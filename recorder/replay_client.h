// The SDK's side of the replay socket: frames over a Unix socket, one question at a time. What they
// mean is schema/replay_protocol.h; what a host sees of them is replay_run.h.

#ifndef REENACT_RECORDER_REPLAY_CLIENT_H_
#define REENACT_RECORDER_REPLAY_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "schema/replay_protocol.h"

namespace reenact::recorder {

// A connected socket. One thread at a time, except Shutdown.
class ReplayConnection {
 public:
  ReplayConnection() = default;
  ~ReplayConnection();
  ReplayConnection(const ReplayConnection&) = delete;
  ReplayConnection& operator=(const ReplayConnection&) = delete;

  // Connects and exchanges greetings. False with `*why`, which names the path.
  bool Open(const std::string& socket_path, std::string_view service, schema::Welcome* welcome,
            std::string* why);
  // Sends one request and waits for its answer. False with `*why`: the connection is of no more
  // use. May throw bad_alloc, and then it is of no more use either.
  bool Ask(const schema::Message& request, schema::Message* answer, std::string* why);
  // Makes a waiting Ask return. Any thread.
  void Shutdown() noexcept;

 private:
  bool Send(std::string_view frame, std::string* why);
  bool Receive(char* data, size_t size, std::string* why);

  std::atomic<int> fd_{-1};
};

// The connection that a recorder and all its runs share. A failure of any kind is final: from then
// on every question is answered with Diverged. Any thread.
class ReplayClient {
 public:
  ReplayClient();
  // False with error() saying why; the client may be used all the same.
  bool Open(const std::string& socket_path, std::string_view service);
  // Answers with what the replayer said, or with Diverged. Never a request type, and never anything
  // else than `request` can be answered with. May throw bad_alloc.
  schema::Message Ask(const schema::Message& request);
  // From now on nothing is answered any more.
  void Fail(std::string_view why);
  // Why nothing is answered yet.
  void Explain(std::string_view why);
  // Its sockets and locks are those of the parent, and are left alone.
  bool InForkedChild() const noexcept;

  // Of the run on the tape; empty before it was opened.
  const schema::Welcome& welcome() const noexcept { return welcome_; }

  // Why nothing is answered any more, or the last divergence.
  std::string error();

 private:
  static bool Answers(const schema::Message& request, const schema::Message& answer) noexcept;

  const uint64_t process_token_;
  schema::Welcome welcome_;
  std::mutex mutex_;  // Guards what follows, and the order of questions.
  ReplayConnection connection_;
  bool dead_ = true;
  std::string error_ = "replay: not connected";
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_REPLAY_CLIENT_H_
