// An answer on its way to a client: its head, how its end is told, and the end, in the version of
// HTTP that the client speaks.

#ifndef REENACT_RECORDER_PROXY_CLIENT_ANSWER_H_
#define REENACT_RECORDER_PROXY_CLIENT_ANSWER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "recorder/proxy/client_stream.h"
#include "recorder/proxy/http_head.h"

namespace reenact::proxy {

struct OwnAnswer;

class ClientAnswer {
 public:
  // Both outlive it.
  ClientAnswer(const ClientRequest* request, ClientStream* client)
      : request_(request), client_(client) {}

  // 100 Continue: once, to a client that waits for it, and not after the head.
  void Continue();
  // Another interim head.
  void Interim(const AnswerHead& head);
  void Head(const AnswerHead& head);
  // After the head. Without a body they go nowhere.
  void Bytes(std::string_view bytes);
  void Trailer(const std::pair<std::string, std::string>& trailer);
  // All came: says so, where that takes bytes.
  void End();
  // The proxy's own, in the place of all the above.
  void Instead(const OwnAnswer& answer, bool keep_alive);

  bool begun() const { return begun_; }

  // The client can tell by the count of its bytes that it has all.
  bool has_all_bytes() const {
    return begun_ && (framing_ == Framing::kLength || framing_ == Framing::kNone) &&
           length_left_ == 0;
  }

  // A further one may follow on its connection.
  bool leaves_open() const { return request_->keep_alive && framing_ != Framing::kUntilClose; }

 private:
  enum class Framing { kNone, kLength, kChunked, kUntilClose };

  Framing ChooseFraming(const AnswerHead& head) const;

  const ClientRequest* const request_;
  ClientStream* const client_;
  Framing framing_ = Framing::kNone;
  bool begun_ = false;
  bool continued_ = false;
  uint64_t length_left_ = 0;  // Of a known length: bytes to come.
  std::string trailers_;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_CLIENT_ANSWER_H_
