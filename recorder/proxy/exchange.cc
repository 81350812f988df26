#include "recorder/proxy/exchange.h"

#include <algorithm>
#include <utility>

#include "recorder/proxy/own_answer.h"
#include "reenact/internal/curl_codes.hpp"
#include "schema/dialect.h"

namespace reenact::proxy {
namespace {

// Bytes of a request that wait for the upstream before the client is made to wait.
constexpr size_t kRequestAhead = 256 << 10;

Headers HeadersForUpstream(const ClientRequest& request) {
  Headers kept;
  for (auto& header : EndToEndHeaders(request.headers)) {
    if (EqualsIgnoringCase(header.first, "host")) continue;
    if (EqualsIgnoringCase(header.first, "content-length")) continue;
    if (EqualsIgnoringCase(header.first, "x-reenact-run")) continue;
    kept.push_back(std::move(header));
  }
  return kept;
}

}  // namespace

Exchange::Exchange(ProxyCore* core, ClientStream* client, ClientRequest request,
                   Destination destination, std::shared_ptr<RecordedRun> run)
    : core_(core),
      client_(client),
      request_(std::move(request)),
      destination_(std::move(destination)),
      run_(std::move(run)),
      body_(&core->body_budget),
      answer_(&request_, client) {
  ++core_->report.in_flight;
}

Exchange::~Exchange() {
  --core_->report.in_flight;
}

void Exchange::Start() {
  if (core_->options.planner == nullptr) return Send();
  held_ = true;
  answer_.Continue();
}

void Exchange::Send() {
  UpstreamRequest upstream;
  upstream.method = request_.method;
  upstream.url = destination_.url;
  upstream.headers = HeadersForUpstream(request_);
  // "Content-Length: 0" is not the same as none, to some servers.
  upstream.has_body = request_.chunked || request_.content_length.has_value();
  if (!request_.chunked) upstream.content_length = request_.content_length;
  if (plan_.body) {
    upstream.content_length = plan_.body->size();
    std::erase_if(upstream.headers, [](const auto& header) {
      return EqualsIgnoringCase(header.first, "content-encoding");
    });
  }
  transfer_.emplace(&core_->curl, &body_, this);
  transfer_->Start(upstream, core_->upstream);
  upstream_proxy_ = transfer_->proxy_address();
}

// Held no longer: it is whole, or too large to be.
void Exchange::Release() {
  held_ = false;
  MakePlan();
  if (!plan_.answer) Send();
}

// Of a route, its path; clients that have this proxy as their HTTP proxy too write a whole URL.
std::string_view Exchange::RouteTarget() const {
  const std::string_view target = request_.target;
  const size_t scheme = target.find("://");
  if (destination_.route.empty() || target.starts_with('/') || scheme == std::string::npos) {
    return target;
  }
  return target.substr(std::min(target.find('/', scheme + 3), target.size()));
}

void Exchange::MakePlan() {
  bool decoded = false;
  const std::string body = DecodedBody(body_.is_whole() ? body_.bytes() : "",
                                       FindHeader(request_.headers, "content-encoding"), &decoded);
  const schema::CallKind kind = KindOf(body);
  plan_ = core_->options.planner->Plan({.method = request_.method,
                                        .target = RouteTarget(),
                                        .kind = &kind,
                                        .body = body,
                                        .is_kept = body_.is_whole() && body_.finished()});
  if (!body_.is_whole()) plan_.body.reset();
  if (plan_.body) body_.Replace(*plan_.body);
  if (!plan_.is_recorded) run_.reset();
}

// --- the request ---

void Exchange::AppendRequest(std::string_view bytes) {
  body_.Append(bytes);
  if (held_ && !body_.is_whole()) {
    Release();
    if (plan_.answer) return Give();
  }
  if (transfer_) transfer_->Resume();
}

void Exchange::FinishRequest() {
  body_.Finish();
  if (held_) Release();
  if (run_) BeginRecording();
  if (request_.has_body() && transfer_) transfer_->Resume();
  if (plan_.answer) Give();
}

bool Exchange::request_room() const {
  return held_ || body_.unread() < kRequestAhead;
}

// The upstream wants the body, whether or not it said so: see EXPECT_100_TIMEOUT of libcurl.
void Exchange::OnRequestMoves() {
  answer_.Continue();
  client_->WantRequestBytes();
}

schema::CallKind Exchange::KindOf(std::string_view body) const {
  return schema::ClassifyCall({.method = request_.method,
                               .host = destination_.host,
                               .route = destination_.route,
                               .target = destination_.target,
                               .body = body});
}

void Exchange::BeginRecording() {
  bool decoded = false;
  const std::string_view encoding =
      plan_.body ? std::string_view() : FindHeader(request_.headers, "content-encoding");
  std::string_view body = body_.is_whole() ? body_.bytes() : std::string_view();
  std::string plain;  // Not without need: it may be large.
  if (!encoding.empty()) body = plain = DecodedBody(body, encoding, &decoded);
  const schema::CallKind kind = KindOf(body);
  if (kind.is_telemetry) {
    ++core_->report.telemetry;
    run_.reset();
    return;
  }
  ++(kind.boundary == schema::Boundary::kModel ? core_->report.model_calls
                                               : core_->report.http_calls);
  const RequestToRecord record{.method = request_.method,
                               .url = destination_.url,
                               .headers = &request_.headers,
                               .body = body};
  recording_.Begin(std::exchange(run_, nullptr), record, kind);
  if (!body_.is_whole()) {
    recording_.AddFact("request_not_kept", std::to_string(body_.size()) + " bytes");
  } else if (!body_.finished()) {
    recording_.AddFact("request_unfinished", "answered or abandoned before its end");
  }
  if (decoded) recording_.AddFact("request_encoding", std::string(encoding));
  if (!upstream_proxy_.empty()) recording_.AddFact(schema::kUpstreamProxyFact, upstream_proxy_);
  for (const auto& [name, value] : plan_.facts) recording_.AddFact(name, value);
}

// --- the answer ---

void Exchange::OnInterim(const AnswerHead& head) {
  if (head.status == 100) return answer_.Continue();
  answer_.Interim(head);
}

void Exchange::OnHead(const AnswerHead& head) {
  answer_.Head(head);
  // An answer before the end of the request: it is recorded with what there is of the request.
  if (run_) BeginRecording();
  // Recorded, and never sent again once there is an answer.
  body_.Forget();
  if (recording_.begun()) {
    recording_.Head(head.status, head.headers);
    // Not at its end: the client may have gone by then.
    if (!head.has_version_1) recording_.AddFact("upstream_http", "2");
  }
  if (plan_.answered) plan_.answered(head.status);
}

bool Exchange::OnBytes(std::string_view bytes) {
  if (!client_->has_room()) {
    paused_ = true;
    return false;
  }
  PassOn(bytes);
  return true;
}

void Exchange::PassOn(std::string_view bytes) {
  answer_.Bytes(bytes);
  if (recording_.begun()) recording_.Bytes(bytes);
}

void Exchange::OnTrailer(const std::pair<std::string, std::string>& trailer) {
  answer_.Trailer(trailer);
}

void Exchange::OnClientRoom() {
  if (!paused_) return;
  paused_ = false;
  transfer_->Resume();
}

void Exchange::OnEnd(const TransferEnd& end) {
  if (!answer_.begun()) return AnswerInstead(end);
  if (recording_.begun()) {
    recording_.End(internal::CurlEndState(end.code),
                   end.code == CURLE_OK ? "" : internal::CurlDetail(end.code));
  }
  const bool complete = end.code == CURLE_OK;
  if (!complete && internal::CurlEndState(end.code) != EndState::kTruncated) {
    return client_->AnswerReset();
  }
  Done(complete);
}

void Exchange::Done(bool whole) {
  if (whole) answer_.End();
  client_->AnswerDone(whole && answer_.leaves_open() && body_.finished());
}

// No answer came: the client gets one of the proxy's, and the record says whose it is.
void Exchange::AnswerInstead(const TransferEnd& end) {
  const OwnAnswer answer = AnswerForFailure(destination_.host, end);
  if (run_) BeginRecording();
  if (recording_.begun()) {
    ++core_->report.proxy_answers;
    recording_.AddFact("answered_by", "proxy");
    recording_.Head(answer.status, answer.headers);
    recording_.Bytes(answer.body);
    recording_.End(internal::CurlEndState(end.code),
                   internal::CurlDetail(end.code) + " (" + answer.code + ")");
  }
  const bool keep_alive = request_.keep_alive && body_.finished();
  answer_.Instead(answer, keep_alive);
  client_->AnswerDone(keep_alive);
}

// --- an answer that needs no upstream ---

void Exchange::Give() {
  const GivenAnswer& answer = *plan_.answer;
  if (answer.status != 0) {
    AnswerHead head{.status = answer.status,
                    .headers = answer.headers,
                    .content_length = answer.content_length,
                    .chunked = !answer.content_length};
    if (answer.content_length) {
      head.headers.emplace_back("content-length", std::to_string(*answer.content_length));
    }
    OnHead(head);
    for (const std::string& piece : answer.pieces) PassOn(piece);
  }
  // The client left when it was recorded, and will again.
  if (answer.end == EndState::kAbandonedByCaller) return;
  const bool whole = answer.status != 0 && answer.end == EndState::kComplete;
  if (recording_.begun()) recording_.End(answer.end, "");
  EndGiven(true);
  Done(whole);
}

void Exchange::EndGiven(bool whole) {
  if (!plan_.answer || !plan_.answer->done) return;
  uint64_t bytes = 0;
  for (const std::string& piece : plan_.answer->pieces) bytes += piece.size();
  std::exchange(plan_.answer->done, nullptr)(bytes, whole);
}

// --- ends from outside ---

void Exchange::OnClientGone(bool took_all) {
  // Over HTTP/2 the end of an answer comes after its last byte, and a client that counts bytes has
  // left by then with all that it asked for.
  const bool complete = took_all && transfer_ && answer_.has_all_bytes();
  transfer_.reset();
  EndGiven(false);
  if (!complete) ++core_->report.client_aborts;
  if (run_) BeginRecording();
  if (!recording_.begun()) return;
  if (complete) {
    recording_.End(EndState::kComplete, "");
  } else {
    recording_.End(EndState::kAbandonedByCaller, "the client closed the connection");
  }
}

void Exchange::CutOff() {
  transfer_.reset();
  EndGiven(false);
  if (run_) BeginRecording();
  if (recording_.begun()) recording_.End(EndState::kIncomplete, "the proxy was stopped");
}

}  // namespace reenact::proxy
