#include <optional>
#include <string>
#include <vector>

#include "tools/reenact/runs/margin_text.h"
#include "tools/reenact/runs/run_json.h"

namespace reenact::tools {
namespace {

void WriteToolCalls(const std::vector<schema::ToolCall>& calls, JsonWriter* json) {
  json->Key("tool_calls");
  json->BeginArray();
  for (const schema::ToolCall& call : calls) {
    json->BeginObject();
    json->TextField("id", call.id);
    json->TextField("name", call.name);
    json->TextField("arguments", call.arguments);
    json->EndObject();
  }
  json->EndArray();
}

void WriteChoices(const std::vector<schema::Choice>& choices, JsonWriter* json) {
  json->Key("choices");
  json->BeginArray();
  for (const schema::Choice& choice : choices) {
    json->BeginObject();
    json->IntField("index", choice.index);
    if (choice.content) {
      json->TextField("content", *choice.content);
    } else {
      json->NullField("content");
    }
    json->TextField("reasoning", choice.reasoning);
    json->TextsField("sealed_reasoning", choice.sealed_reasoning);
    json->TextField("refusal", choice.refusal);
    json->TextField("finish_reason", choice.finish_reason);
    json->TextField("stopped_at", choice.stopped_at);
    WriteToolCalls(choice.tool_calls, json);
    json->EndObject();
  }
  json->EndArray();
}

void WriteNearTies(const EventView& event, JsonWriter* json) {
  json->Key("near_ties");
  json->BeginArray();
  for (const schema::NearTie& tie : event.near_ties) {
    json->BeginObject();
    json->IntField("token_index", tie.token_index);
    json->RealField("margin_nats", tie.margin_nats);
    json->TextField("chosen", tie.chosen.token);
    json->RealField("chosen_logprob", tie.chosen.logprob);
    json->TextField("runner_up", tie.runner_up.token);
    json->RealField("runner_up_logprob", tie.runner_up.logprob);
    json->BoolField("chosen_is_best", tie.chosen_is_best);
    json->EndObject();
  }
  json->EndArray();
  json->IntField("tokens_without_alternatives", event.tokens_without_alternatives);
  json->Key("margins");  // Of each choice; null where its logprobs tell of none.
  json->BeginArray();
  for (const schema::Choice& choice : event.model.choices) {
    const std::optional<MarginSummary> margins = SummariseMargins(choice.logprobs);
    margins ? WriteMargins(*margins, json) : json->Null();
  }
  json->EndArray();
}

void WriteModel(const EventView& event, JsonWriter* json) {
  const schema::ModelView& model = event.model;
  json->Key("model");
  json->BeginObject();
  json->TextField("dialect", schema::ToString(model.dialect));
  json->TextField("asked", model.asked_model);
  json->GivenTextField("served", model.served_model);
  json->GivenTextField("system_fingerprint", model.system_fingerprint);
  json->TextField("service_tier", model.service_tier);
  json->TextField("response_id", model.response_id);
  json->IntField("http_status", model.http_status);
  json->BoolField("stream", model.stream);
  json->BoolField("end_marker", model.end_marker);
  json->OptionalIntField("first_byte_ns", model.first_byte_ns);
  json->OptionalIntField("prompt_tokens", model.usage.prompt_tokens);
  json->OptionalIntField("completion_tokens", model.usage.completion_tokens);
  json->OptionalIntField("cached_tokens", model.usage.cached_tokens);
  json->OptionalIntField("cache_write_tokens", model.usage.cache_write_tokens);
  json->OptionalIntField("reasoning_tokens", model.usage.reasoning_tokens);
  json->IntField("attempts", schema::AttemptCount(event.event->exchange));
  json->TextField("error_kind", model.error_kind);
  json->TextField("error_message", model.error_message);
  json->TextsField("anomalies", model.anomalies);
  json->PairsField("said", model.facts);
  WriteChoices(model.choices, json);
  WriteNearTies(event, json);
  json->EndObject();
}

void WriteExchange(const schema::Event& event, JsonWriter* json) {
  json->Key("exchange");
  json->BeginArray();
  for (const schema::ExchangeItem& item : event.exchange) {
    json->BeginObject();
    json->IntField("offset_ns", item.offset_ns);
    if (item.kind == schema::ExchangeItemKind::kHead) {
      json->TextField("kind", "head");
      json->IntField("status", item.status);
      json->PairsField("headers", item.headers);
    } else if (item.kind == schema::ExchangeItemKind::kBytes) {
      json->TextField("kind", "bytes");
      json->UintField("size_bytes", item.size);
    } else {
      json->TextField("kind", "attempt_end");
      json->TextField("detail", item.detail);
    }
    json->EndObject();
  }
  json->EndArray();
}

void WriteReading(const schema::Event& event, JsonWriter* json) {
  switch (event.boundary) {
    case schema::Boundary::kClock:
      json->TimeField("value", static_cast<int64_t>(event.value));
      break;
    case schema::Boundary::kRandom:
      json->DigitsField("seed", event.value);
      break;
    default:
      json->BoolField("value", event.value != 0);
  }
}

}  // namespace

void WriteBody(std::string_view name, const schema::Body& body, bool bytes, JsonWriter* json) {
  json->Key(name);
  json->BeginObject();
  json->UintField("size_bytes", body.bytes.size());
  json->BoolField("redacted", body.redacted);
  json->BoolField("cut", body.cut);
  if (body.cut) {
    json->UintField("original_size_bytes", body.original_size);
  }
  if (bytes) json->TextField("bytes", body.bytes);
  json->EndObject();
}

void WriteEvent(const EventView& view, bool bodies, JsonWriter* json) {
  const schema::Event& event = *view.event;
  json->BeginObject();
  json->IntField("index", view.index);
  json->UintField("sequence", event.sequence);
  json->TextField("scope", event.scope);
  json->TextField("boundary", schema::ToString(event.boundary));
  json->TextField("name", event.name);
  json->TimeField("started", event.started.wall_ns);
  if (!view.is_call()) {
    WriteReading(event, json);
    json->EndObject();
    return;
  }
  json->IntField("elapsed_ns", event.elapsed_ns);
  json->TextField("end_state", schema::ToString(view.end_state));
  json->TextField("end_detail", view.end_detail);
  json->IntField("retry", event.attempt);
  json->IntField("in_flight", event.in_flight);
  json->TextField("provider", event.provider);
  json->TextField("endpoint", event.endpoint);
  json->PairsField("facts", event.meta);
  WriteBody("request", event.request, bodies, json);
  WriteBody("answer", event.response, bodies, json);
  if (bodies) {
    json->PairsField("request_headers", event.request_headers);
    WriteExchange(event, json);
  }
  if (view.is_model()) WriteModel(view, json);
  json->EndObject();
}

}  // namespace reenact::tools
