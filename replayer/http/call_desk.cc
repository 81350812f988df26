#include "replayer/http/call_desk.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "replayer/tape.h"
#include "schema/request_key.h"

namespace reenact::replayer {
namespace {

constexpr std::string_view kReportTarget = "/reenact/report";

// Of a URL, from the host on; of anything else, all.
struct Upstream {
  std::string url;  // Whole, where it is known.
  std::string host;
  std::string target;
  std::string route;
};

Upstream FromUrl(std::string url) {
  Upstream upstream;
  const size_t scheme = url.find("://");
  const size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t path = std::min(url.find_first_of("/?#", host), url.size());
  upstream.host = url.substr(host, path - host);
  if (path == url.size() || url[path] != '/') upstream.target = '/';
  upstream.target += url.substr(path);
  upstream.url = std::move(url);
  return upstream;
}

bool TakesPath(const schema::CommandRoute& route, std::string_view target) {
  if (!target.starts_with(route.prefix)) return false;
  const size_t size = route.prefix.size();
  return target.size() == size || target[size] == '/' || target[size] == '?';
}

// Where a request would have gone while it was recorded.
Upstream Resolve(const std::vector<schema::CommandRoute>& routes, const std::string& target) {
  if (!target.starts_with('/')) return FromUrl(target);
  const schema::CommandRoute* best = nullptr;
  for (const schema::CommandRoute& route : routes) {
    if (!TakesPath(route, target)) continue;
    if (best == nullptr || route.prefix.size() > best->prefix.size()) best = &route;
  }
  if (best == nullptr) {
    Upstream upstream;
    upstream.url = target;
    upstream.target = target;
    return upstream;
  }
  const std::string rest = target.substr(best->prefix.size());
  std::string url = best->upstream;
  if (!rest.starts_with(best->implied_path)) url += best->implied_path;
  Upstream upstream = FromUrl(url + rest);
  upstream.route = best->name;
  return upstream;
}

}  // namespace

CallDesk::CallDesk(ReplaySession* session, std::vector<schema::CommandRoute> routes)
    : session_(session), routes_(std::move(routes)) {}

CallDesk::Place CallDesk::PlaceOf(const HttpQuestion& question) const {
  const Upstream upstream = Resolve(routes_, question.target);
  Place place;
  place.kind = schema::ClassifyCall({.method = question.method,
                                     .host = upstream.host,
                                     .route = upstream.route,
                                     .target = upstream.target,
                                     .body = question.body});
  place.call.run_token = kRunToken;
  place.call.boundary = place.kind.boundary;
  place.call.name = place.kind.name;
  place.call.provider = place.kind.provider;
  place.call.endpoint = upstream.url;
  place.call.request = question.body;
  MoveToRecord(&place);
  return place;
}

// A run that an SDK recorded has names and scopes of its host's choice, which no HTTP request
// tells: where nothing is recorded under the name that HTTP gives, the request itself says which
// record is meant.
void CallDesk::MoveToRecord(Place* place) const {
  const Tape& tape = session_->tape();
  if (!tape.CallsAt({"", place->call.boundary, place->call.name}).empty()) return;
  const std::string body = tape.Redact(place->call.request);
  for (const auto& [address, records] : tape.calls()) {
    if (address.boundary != place->call.boundary) continue;
    for (const TapeCall& record : records) {
      const schema::Event& event = *record.event;
      // Where the path is part of a request, it is the one that is asked for now.
      const std::string& endpoint =
          event.provider == schema::kPlainHttp ? place->call.endpoint : event.endpoint;
      if (schema::KeyOf({event.boundary, event.provider, endpoint, body}) != record.request.key) {
        continue;
      }
      place->call.scope = address.scope;
      place->call.name = address.name;
      place->call.provider = event.provider;
      place->call.endpoint = event.endpoint;
      return;
    }
  }
}

schema::Digest CallDesk::DigestOf(const HttpQuestion& question) {
  return schema::HashBytes(question.method + ' ' + question.target + '\n' + question.body);
}

bool CallDesk::OpenCall::IsAwaiting(const schema::Digest& question) const {
  const auto attempts = static_cast<size_t>(schema::AttemptCount(call->exchange));
  return request == question && next_attempt < attempts;
}

bool CallDesk::IsFurtherAttempt(const HttpQuestion& question) const {
  const schema::Digest request = DigestOf(question);
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(open_.begin(), open_.end(),
                     [&](const auto& open) { return open.second.IsAwaiting(request); });
}

HttpReply CallDesk::NextAttempt(uint64_t token, OpenCall* open) {
  ++under_way_;
  HttpReply reply{AnswerOf(*open->call, open->next_attempt++), token, session_->EventOf(token)};
  HttpAnswer& answer = reply.answer;
  const auto attempts = static_cast<size_t>(schema::AttemptCount(open->call->exchange));
  if (!answer.pieces.empty()) answer.end_offset_ns = answer.pieces.back().offset_ns;
  if (reply.event && open->next_attempt == attempts) {
    const schema::Event& event = session_->tape().run().events[*reply.event];
    answer.end_offset_ns = std::max(answer.end_offset_ns, event.elapsed_ns);
  }
  return reply;
}

HttpReply CallDesk::Miss(const schema::Diverged& diverged, const Place& place) const {
  Divergence divergence = session_->DivergenceOf(diverged);
  const size_t records =
      session_->tape().CallsAt({place.call.scope, place.call.boundary, place.call.name}).size();
  return {MissOf(divergence, place.kind, records)};
}

AnswerSource CallDesk::SourceOf(const HttpQuestion& question, const ForkPoint& fork) const {
  const Place place = PlaceOf(question);
  if (place.kind.is_telemetry || IsFurtherAttempt(question)) return AnswerSource::kTape;
  return session_->SourceOf(place.call, fork);
}

HttpReply CallDesk::Ask(const HttpQuestion& question) {
  if (question.target == kReportTarget) {
    const Tape& tape = session_->tape();
    const int64_t served = session_->calls_served();
    return {OwnAnswer(200, ReportJson(session_->divergences(), served, tape.call_count()))};
  }
  const Place place = PlaceOf(question);
  // An exporter's traffic was not recorded; it is taken, and goes nowhere.
  if (place.kind.is_telemetry) return {OwnAnswer(200, "{}")};
  const schema::Digest request = DigestOf(question);
  const std::lock_guard<std::mutex> lock(mutex_);
  ++asked_;
  for (auto& [token, open] : open_) {
    if (open.IsAwaiting(request)) return NextAttempt(token, &open);
  }
  schema::Message answer = session_->Answer(place.call);
  if (const auto* diverged = std::get_if<schema::Diverged>(&answer)) return Miss(*diverged, place);
  auto* on_tape = std::get_if<schema::OnTape>(&answer);
  if (on_tape == nullptr) return {OwnAnswer(500, "{}")};
  const uint64_t token = on_tape->call_token;
  OpenCall& open = open_[token];
  open.call = std::make_shared<const schema::OnTape>(std::move(*on_tape));
  open.request = request;
  return NextAttempt(token, &open);
}

void CallDesk::Done(uint64_t token, uint64_t sent, bool whole) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = open_.find(token);
  if (token == 0 || found == open_.end()) return;
  --under_way_;
  OpenCall& open = found->second;
  open.consumed += sent;
  const auto attempts = static_cast<size_t>(schema::AttemptCount(open.call->exchange));
  if (open.next_attempt < attempts) return;
  schema::EndCall end;
  end.run_token = kRunToken;
  end.call_token = token;
  end.consumed_bytes = open.consumed;
  end.state = whole ? schema::EndState::kComplete : schema::EndState::kAbandonedByCaller;
  open_.erase(found);
  session_->Answer(end);
}

int64_t CallDesk::asked() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return asked_;
}

int64_t CallDesk::under_way() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return under_way_;
}

}  // namespace reenact::replayer
