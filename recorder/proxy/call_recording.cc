#include "recorder/proxy/call_recording.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "reenact/internal/c_values.hpp"
#include "reenact/reenact.h"
#include "schema/redaction.h"

namespace reenact::proxy {
namespace {

// Credentials of the query, as headers that carry credentials: the recorder learns those, so that
// an answer which echoes one is redacted too.
void AppendQueryCredentials(std::string_view url, Headers* headers) {
  const size_t begin = url.find('?');
  if (begin == std::string_view::npos) return;
  std::string_view query = url.substr(begin + 1);
  while (!query.empty()) {
    const size_t end = std::min(query.find_first_of("&;#"), query.size());
    const std::string pair(query.substr(0, end));
    const size_t equals = pair.find('=');
    if (equals != std::string::npos) {
      const std::string probe = "http://host/?" + pair;
      if (schema::RedactUrl(probe, {}) != probe) {
        headers->emplace_back("x-api-key", pair.substr(equals + 1));
      }
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
}

uint64_t Fingerprint(const RequestToRecord& request) {
  const std::hash<std::string_view> hash;
  uint64_t mixed = hash(request.method);
  mixed = mixed * 0x9E3779B97F4A7C15u + hash(request.url);
  return mixed * 0x9E3779B97F4A7C15u + hash(request.body);
}

// What clients try again: no answer at all, or one of these.
bool IsRetried(int status, EndState state) {
  return state != EndState::kComplete || status == 408 || status == 409 || status == 429 ||
         status >= 500;
}

Headers WithoutHeader(const Headers& headers, std::string_view name) {
  Headers kept;
  for (const auto& header : headers) {
    if (!EqualsIgnoringCase(header.first, name)) kept.push_back(header);
  }
  return kept;
}

}  // namespace

CallRecording::~CallRecording() {
  if (begun_) End(EndState::kIncomplete, "the proxy was stopped");
}

void CallRecording::Begin(std::shared_ptr<RecordedRun> run, const RequestToRecord& request,
                          const schema::CallKind& kind) {
  begun_ = true;
  run_ = std::move(run);
  fingerprint_ = Fingerprint(request);
  const AttemptBook::Attempt attempt = run_->attempts().Begin(
      fingerprint_, FindHeader(*request.headers, "x-stainless-retry-count"), SteadyNow());
  Headers headers = *request.headers;
  AppendQueryCredentials(request.url, &headers);
  const std::vector<reenact_pair> pairs = reenact::internal::Pairs(headers);
  auto info = reenact::internal::Sized<reenact_call_info>();
  info.boundary = static_cast<int32_t>(kind.boundary);
  info.name = reenact::internal::Bytes(kind.name);
  info.provider = reenact::internal::Bytes(kind.provider);
  const std::string endpoint = schema::RedactUrl(request.url, {});
  info.endpoint = reenact::internal::Bytes(endpoint);
  info.request = reenact::internal::Bytes(request.body);
  info.headers = pairs.data();
  info.header_count = pairs.size();
  info.attempt = attempt.attempt;
  reenact_call_begin(run_->run().handle(), &info, &call_);
  AddFact("method", std::string(request.method));
  AddFact("call", std::to_string(attempt.call));
}

void CallRecording::Head(int status, const Headers& headers) {
  status_ = status;
  const std::string_view encoding = FindHeader(headers, "content-encoding");
  decoder_ = schema::ContentDecoder::For(encoding);
  Headers kept = headers;
  if (decoder_) {
    AddFact("content_encoding", std::string(encoding));
    kept = WithoutHeader(WithoutHeader(headers, "content-encoding"), "content-length");
  }
  const std::vector<reenact_pair> pairs = reenact::internal::Pairs(kept);
  reenact_call_head(call_, status, pairs.data(), pairs.size());
}

void CallRecording::Bytes(std::string_view bytes) {
  wire_bytes_ += bytes.size();
  if (!decoder_) return Keep(bytes);
  if (decoder_->Decode(bytes, [this](std::string_view piece) { Keep(piece); })) return;
  decoder_ = nullptr;
  AddFact("content_not_decoded_from", std::to_string(wire_bytes_ - bytes.size()));
  Keep(bytes);
}

void CallRecording::Keep(std::string_view bytes) {
  reenact_call_chunk(call_, reenact::internal::Bytes(bytes));
}

void CallRecording::AddFact(std::string name, std::string value) {
  facts_.emplace_back(std::move(name), std::move(value));
}

void CallRecording::End(EndState state, std::string_view detail) {
  begun_ = false;
  if (decoder_) AddFact("wire_bytes", std::to_string(wire_bytes_));
  run_->attempts().End(fingerprint_, IsRetried(status_, state), SteadyNow());
  const std::vector<reenact_pair> pairs = reenact::internal::Pairs(facts_);
  auto meta = reenact::internal::Sized<reenact_call_meta>();
  meta.detail = reenact::internal::Bytes(detail);
  meta.facts = pairs.data();
  meta.fact_count = pairs.size();
  reenact_call_end(std::exchange(call_, nullptr), static_cast<int32_t>(state), &meta);
  run_.reset();
}

}  // namespace reenact::proxy
