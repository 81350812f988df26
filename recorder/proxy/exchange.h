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
#include "recorder/proxy/client_answer.h"
#include "recorder/proxy/client_stream.h"
#include "recorder/proxy/http_head.h"
#include "recorder/proxy/proxy_core.h"
#include "recorder/proxy/request_plan.h"
#include "recorder/proxy/route.h"
#include "recorder/proxy/transfer.h"

namespace reenact::proxy {

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
  void Release();
  std::string_view RouteTarget() const;
  void MakePlan();
  void Send();
  schema::CallKind KindOf(std::string_view body) const;
  void BeginRecording();
  void PassOn(std::string_view bytes);
  void Done(bool whole);
  void Give();
  void EndGiven(bool whole);
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
  ClientAnswer answer_;
  bool paused_ = false;               // The upstream waits for the client.
  std::string upstream_proxy_;        // Of the environment, that the request went through.
  std::optional<Transfer> transfer_;  // Absent: held, or answered without an upstream.
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_EXCHANGE_H_
