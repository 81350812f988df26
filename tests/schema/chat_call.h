// Recorded chat calls for tests: how an event looks when a provider answered with these bytes.

#ifndef REENACT_TESTS_SCHEMA_CHAT_CALL_H_
#define REENACT_TESTS_SCHEMA_CHAT_CALL_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/model_view.h"
#include "schema/record.h"

namespace reenact::schema {

struct ChatCall {
  std::string request =
      R"({"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]})";
  int32_t status = 200;
  Headers headers = {{"content-type", "text/event-stream"}};
  EndState end_state = EndState::kComplete;
  std::string provider = "openai";
  std::string endpoint = "https://api.openai.com/v1/chat/completions";
};

// The answer's bytes arrive in two reads, cut at `cut`; in one where it is 0.
inline Event MakeEvent(std::string body, const ChatCall& call = {}, size_t cut = 0) {
  Event event;
  event.provider = call.provider;
  event.endpoint = call.endpoint;
  event.request.bytes = call.request;
  event.end_state = call.end_state;
  event.exchange.push_back({.kind = ExchangeItemKind::kHead,
                            .offset_ns = 1'000,
                            .status = call.status,
                            .headers = call.headers});
  cut = std::min(cut, body.size());
  if (cut > 0) {
    event.exchange.push_back({.kind = ExchangeItemKind::kBytes, .offset_ns = 2'000, .size = cut});
  }
  if (body.size() > cut) {
    event.exchange.push_back({.kind = ExchangeItemKind::kBytes,
                              .offset_ns = cut > 0 ? 3'000 : 2'000,
                              .size = body.size() - cut});
  }
  event.response.bytes = std::move(body);
  return event;
}

inline ModelView View(std::string body, const ChatCall& call = {}) {
  return ViewModelCall(MakeEvent(std::move(body), call));
}

// One record with one choice: "data: {..}\n\n". `delta` and `rest` are JSON members.
inline std::string Chunk(std::string_view delta, std::string_view rest = {}) {
  std::string record =
      R"(data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-1",)";
  record += R"("choices":[{"index":0,"delta":{)";
  record += delta;
  record += "}";
  if (!rest.empty()) record += ",";
  record += rest;
  record += "}]}\n\n";
  return record;
}

inline std::string TextChunk(std::string_view text, std::string_view rest = {}) {
  return Chunk(R"("content":")" + std::string(text) + "\"", rest);
}

inline std::string FinishChunk(std::string_view reason = "stop") {
  return Chunk("", R"("finish_reason":")" + std::string(reason) + "\"");
}

inline const std::string kDone = "data: [DONE]\n\n";

inline bool Has(const std::vector<std::string>& anomalies, std::string_view name) {
  return std::find(anomalies.begin(), anomalies.end(), name) != anomalies.end();
}

inline std::string EndOf(const ModelView& view) {
  return DescribeEnd(view.end_state, view.end_detail);
}

// Everything that a view says, as text, to compare two of them.
std::string Describe(const ModelView& view);

}  // namespace reenact::schema

#endif  // REENACT_TESTS_SCHEMA_CHAT_CALL_H_
