// One request of a client and its answer: passed on as they come, and recorded.

#ifndef REENACT_RECORDER_PROXY_EXCHANGE_H_
#define REENACT_RECORDER_PROXY_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "recorder/proxy/call_recording.h"
#include "recorder/proxy/http_head.h"
#include "recorder/proxy/proxy_core.h"
#include "recorder/proxy/request_plan.h"
#include "recorder/proxy/route.h"
#include "recorder/proxy/transfer.h"

namespace reenact::proxy {

struct ClientRequest {
  std::string method;
  std::string target;  // As sent.
  bool is_version_1_1 = true;
  Headers headers;
  std::optional<uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = true;

  bool has_body() const { return chunked || content_length.value_or(0) != 0; }

  bool awaits_continue() const { return has_body() && HasToken(headers, "expect", "100-continue"); }
};

// The client's side of an exchange.
class ClientStream {
 public:
  virtual ~ClientStream() = default;
  // Sends as soon as what was written before is sent.
  virtual void Write(std::string_view bytes) = 0;
  // False: enough is waiting to be sent; Exchange::OnClientRoom follows.
  virtual bool has_room() const = 0;
  // The exchange has room for bytes of the request. May be called when there are none.
  virtual void WantRequestBytes() = 0;
  // The answer is whole, or will never be; ends the exchange. Without `keep_alive` the connection
  // is closed once all is sent.
  virtual void AnswerDone(bool keep_alive) = 0;
  // The answer broke off with a reset, and does so for the client: an answer that ends with its
  // connection would pass for whole. Ends the exchange.
  virtual void AnswerReset() = 0;
};

class Exchange final : public TransferListener {
 public:
  Exchange(ProxyCore* core, ClientStream* client, ClientRequest request, Destination destination,
           std::shared_ptr<RecordedRun> run);
  ~Exchange() override;

  void Start();

  // The request as it arrives.
  void AppendRequest(std::string_view bytes);
  void FinishRequest();
  bool request_room() const;

  const ClientRequest& request() const { return request_; }

  bool request_finished() const { return body_.finished(); }

  void OnClientRoom();
  // The client went away: the upstream is let go, too. `took_all`: the client was sent everything
  // that it was given.
  void OnClientGone(bool took_all);
  // The proxy stops.
  void CutOff();

  void OnInterim(const AnswerHead& head) override;
  void OnHead(const AnswerHead& head) override;
  bool OnBytes(std::string_view bytes) override;
  void OnTrailer(const std::pair<std::string, std::string>& trailer) override;
  void OnRequestMoves() override;
  void OnEnd(const TransferEnd& end) override;

 private:
  enum class Framing { kNone, kLength, kChunked, kUntilClose };

  void Release();
  std::string_view RouteTarget() const;
  void MakePlan();
  void Send();
  schema::CallKind KindOf(std::string_view body) const;
  void BeginRecording();
  void SendContinue();
  Framing ChooseFraming(const AnswerHead& head) const;
  void PassOn(std::string_view bytes);
  void Give();
  void EndGiven(bool whole);
  bool HasWholeAnswer() const;
  void AnswerInstead(const TransferEnd& end);

  ProxyCore* const core_;
  ClientStream* const client_;
  const ClientRequest request_;
  const Destination destination_;
  std::shared_ptr<RecordedRun> run_;
  RequestBody body_;
  bool held_ = false;  // Not sent before it is whole and there is a plan for it.
  RequestPlan plan_;
  CallRecording recording_;
  Framing framing_ = Framing::kNone;
  bool answered_ = false;  // The head was sent.
  bool continued_ = false;
  bool paused_ = false;       // The upstream waits for the client.
  uint64_t length_left_ = 0;  // Of an answer of a known length: bytes to come.
  std::string trailers_;
  std::string upstream_proxy_;        // Of the environment, that the request went through.
  std::optional<Transfer> transfer_;  // Absent: held, or answered without an upstream.
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_EXCHANGE_H_
