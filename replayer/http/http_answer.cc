#include "replayer/http/http_answer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

namespace reenact::replayer {
namespace {

using Json = nlohmann::ordered_json;
using schema::EndState;
using schema::ExchangeItem;
using schema::ExchangeItemKind;

constexpr int kMissStatus = 400;

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// These say how the recorded connection carried the body; ours says so for itself.
bool IsFraming(std::string_view name) {
  constexpr std::array<std::string_view, 5> kFraming = {
      "connection", "content-length", "keep-alive", "trailer", "transfer-encoding"};
  return std::any_of(kFraming.begin(), kFraming.end(),
                     [&](std::string_view framing) { return EqualsIgnoringCase(name, framing); });
}

void TakeHead(const ExchangeItem& item, HttpAnswer* answer) {
  answer->status = item.status;
  answer->head_offset_ns = item.offset_ns;
  for (const auto& [name, value] : item.headers) {
    if (!IsFraming(name)) answer->headers.emplace_back(name, value);
    if (!EqualsIgnoringCase(name, "content-length")) continue;
    uint64_t length = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (error == std::errc() && end == value.data() + value.size()) answer->content_length = length;
  }
}

BodyEnd EndOf(EndState state) {
  switch (state) {
    case EndState::kTruncated:
      return BodyEnd::kCut;
    case EndState::kReset:
    case EndState::kError:
      return BodyEnd::kReset;
    case EndState::kAbandonedByCaller:
      return BodyEnd::kOpen;
    default:
      return BodyEnd::kWhole;
  }
}

// The end of an attempt that was not the last, as the record has it in words.
BodyEnd EndOf(std::string_view attempt_end) {
  const std::string_view state = attempt_end.substr(0, attempt_end.find(':'));
  return EndOf(schema::ParseEndState(state).value_or(EndState::kComplete));
}

std::string Text(std::string_view text) {
  return std::string(text);
}

Json ErrorIn(const schema::CallKind& call, const std::string& message) {
  switch (call.dialect) {
    case schema::ModelDialect::kAnthropicMessages:
      return {{"type", "error"},
              {"error", {{"type", "invalid_request_error"}, {"message", message}}},
              {"request_id", nullptr}};
    case schema::ModelDialect::kGemini:
      return {
          {"error", {{"code", kMissStatus}, {"message", message}, {"status", "INVALID_ARGUMENT"}}}};
    case schema::ModelDialect::kOllama:
      return {{"error", message}};
    default:
      return {{"error",
               {{"message", message},
                {"type", "invalid_request_error"},
                {"param", nullptr},
                {"code", "replay_miss"}}}};
  }
}

Json Describe(const Divergence& divergence) {
  Json json = {{"kind", Text(ToString(divergence.kind))}, {"summary", divergence.summary}};
  if (!divergence.name.empty()) {
    json["scope"] = divergence.scope;
    json["boundary"] = Text(schema::ToString(divergence.boundary));
    json["name"] = divergence.name;
    json["ordinal"] = divergence.ordinal;
  }
  if (!divergence.key.empty()) json["key"] = divergence.key;
  json["closest"] = divergence.closest ? Json(*divergence.closest) : Json(nullptr);
  json["differences"] = Json::array();
  for (const schema::JsonDifference& difference : divergence.differences) {
    json["differences"].push_back(
        {{"path", difference.path},
         {"recorded", difference.expected_present ? Json(difference.expected) : Json(nullptr)},
         {"now", difference.actual_present ? Json(difference.actual) : Json(nullptr)}});
  }
  return json;
}

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

uint64_t HttpAnswer::size() const {
  uint64_t sum = 0;
  for (const BodyPiece& piece : pieces) sum += piece.bytes.size();
  return sum;
}

HttpAnswer AnswerOf(const schema::OnTape& call, size_t attempt) {
  HttpAnswer answer;
  answer.end = EndOf(call.end_state);
  size_t seen = 0;
  size_t at = 0;
  for (const ExchangeItem& item : call.exchange) {
    const bool wanted = seen == attempt;
    switch (item.kind) {
      case ExchangeItemKind::kHead:
        if (wanted) TakeHead(item, &answer);
        break;
      case ExchangeItemKind::kBytes:
        if (wanted) answer.pieces.push_back({call.body.substr(at, item.size), item.offset_ns});
        at += std::min<uint64_t>(item.size, call.body.size() - at);
        break;
      case ExchangeItemKind::kAttemptEnd:
        if (wanted) {
          answer.end = EndOf(item.detail);
          return answer;
        }
        ++seen;
        break;
    }
  }
  // What never got a head has nothing that could be sent: the connection failed.
  if (answer.status == 0) answer.end = BodyEnd::kReset;
  return answer;
}

HttpAnswer MissOf(const Divergence& divergence, const schema::CallKind& call, size_t records) {
  const std::string message =
      "reenact: " + Text(ToString(divergence.kind)) + ": " + MessageOf(divergence) +
      (divergence.key.empty() ? "" : "; key " + divergence.key) + "; " + std::to_string(records) +
      (records == 1 ? " record" : " records") + " of this name";
  Json json = ErrorIn(call, message);
  json["reenact"] = Describe(divergence);
  json["reenact"]["records"] = records;
  HttpAnswer answer = OwnAnswer(kMissStatus, Dump(json));
  // Clients retry some statuses by themselves, and any when they are told to; this none of them.
  answer.headers.emplace_back("x-should-retry", "false");
  return answer;
}

HttpAnswer OwnAnswer(int status, std::string json) {
  HttpAnswer answer;
  answer.status = status;
  answer.headers = {{"content-type", "application/json"}};
  answer.content_length = json.size();
  answer.pieces.push_back({std::move(json), 0});
  return answer;
}

std::string ReportJson(const std::vector<Divergence>& divergences, int64_t calls_served,
                       int64_t calls_on_tape) {
  Json json = {{"schema_version", 1},
               {"calls_served", calls_served},
               {"calls_on_tape", calls_on_tape},
               {"divergences", Json::array()}};
  for (const Divergence& divergence : divergences) {
    json["divergences"].push_back(Describe(divergence));
  }
  return Dump(json);
}

}  // namespace reenact::replayer
