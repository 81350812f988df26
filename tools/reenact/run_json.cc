#include "tools/reenact/run_json.h"

#include <optional>
#include <string>
#include <vector>

#include "tools/reenact/time_text.h"

namespace reenact::tools {
namespace {

void WriteTexts(std::string_view name, const std::vector<std::string>& texts, JsonWriter* json) {
  json->Key(name);
  json->BeginArray();
  for (const std::string& text : texts) json->Text(text);
  json->EndArray();
}

// Tags and headers may repeat a name, so they are a list of pairs, not an object.
void WritePairs(std::string_view name, const schema::Tags& pairs, JsonWriter* json) {
  json->Key(name);
  json->BeginArray();
  for (const auto& [key, value] : pairs) {
    json->BeginObject();
    json->TextField("name", key);
    json->TextField("value", value);
    json->EndObject();
  }
  json->EndArray();
}

void WriteOptional(std::string_view name, const std::optional<int64_t>& number, JsonWriter* json) {
  if (number) {
    json->IntField(name, *number);
  } else {
    json->NullField(name);
  }
}

void WriteBody(std::string_view name, const schema::Body& body, bool bytes, JsonWriter* json) {
  json->Key(name);
  json->BeginObject();
  json->UintField("size_bytes", body.bytes.size());
  json->BoolField("redacted", body.redacted);
  json->BoolField("cut", body.cut);
  if (body.cut) {
    json->UintField("original_size_bytes", body.original_size);
    json->TextField("original_sha256", schema::ToHex(body.original_digest));
  }
  if (bytes) json->TextField("bytes", body.bytes);
  json->EndObject();
}

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
}

void WriteModel(const EventView& event, JsonWriter* json) {
  const schema::ModelView& model = event.model;
  json->Key("model");
  json->BeginObject();
  json->TextField("asked", model.asked_model);
  if (model.served_model.empty()) {
    json->NullField("served");
  } else {
    json->TextField("served", model.served_model);
  }
  if (model.fingerprint_presence == schema::Presence::kValue) {
    json->TextField("system_fingerprint", model.system_fingerprint);
  } else {
    json->NullField("system_fingerprint");
  }
  json->TextField("service_tier", model.service_tier);
  json->TextField("response_id", model.response_id);
  json->IntField("http_status", model.http_status);
  json->BoolField("stream", model.stream);
  json->BoolField("end_marker", model.end_marker);
  WriteOptional("first_byte_ns", model.first_byte_ns, json);
  WriteOptional("prompt_tokens", model.usage.prompt_tokens, json);
  WriteOptional("completion_tokens", model.usage.completion_tokens, json);
  WriteOptional("cached_tokens", model.usage.cached_tokens, json);
  WriteOptional("reasoning_tokens", model.usage.reasoning_tokens, json);
  json->IntField("attempts", schema::AttemptCount(event.event->exchange));
  json->TextField("error_kind", model.error_kind);
  json->TextField("error_message", model.error_message);
  WriteTexts("anomalies", model.anomalies, json);
  json->Key("choices");
  json->BeginArray();
  for (const schema::Choice& choice : model.choices) {
    json->BeginObject();
    json->IntField("index", choice.index);
    if (choice.content) {
      json->TextField("content", *choice.content);
    } else {
      json->NullField("content");
    }
    json->TextField("refusal", choice.refusal);
    json->TextField("finish_reason", choice.finish_reason);
    WriteToolCalls(choice.tool_calls, json);
    json->EndObject();
  }
  json->EndArray();
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
      WritePairs("headers", item.headers, json);
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

void WriteRunHead(const schema::Run& run, JsonWriter* json) {
  json->TextField("id", schema::ToString(run.id));
  if (run.parent.IsZero()) {
    json->NullField("parent");
  } else {
    json->TextField("parent", schema::ToString(run.parent));
  }
  json->TextField("service", run.service);
  json->TextField("entry", run.entry);
  json->TextField("trace_id", run.trace_id);
  json->TimeField("started", run.started.wall_ns);
}

}  // namespace

void WriteRunSummary(const store::RunSummary& run, JsonWriter* json) {
  schema::Run head;
  head.id = run.id;
  head.parent = run.parent;
  head.service = run.service;
  head.entry = run.entry;
  head.trace_id = run.trace_id;
  head.started.wall_ns = run.started_wall_ns;
  json->BeginObject();
  WriteRunHead(head, json);
  json->IntField("elapsed_ns", run.elapsed_ns);
  json->TextField("state", schema::ToString(run.state));
  json->TextField("state_detail", run.state_detail);
  json->BoolField("in_progress", run.in_progress);
  WritePairs("tags", run.tags, json);
  json->IntField("model_calls", run.model_calls);
  json->IntField("tool_calls", run.tool_calls);
  json->IntField("retrievals", run.retrievals);
  json->IntField("error_calls", run.error_calls);
  json->UintField("lost_events", run.lost_events);
  WriteTexts("asked_models", run.asked_models, json);
  WriteTexts("served_models", run.served_models, json);
  WriteTexts("fingerprints", run.fingerprints, json);
  WriteTexts("errors", run.errors, json);
  json->Key("incidents");
  json->BeginArray();
  for (const schema::Ulid& incident : run.incidents) json->Text(schema::ToString(incident));
  json->EndArray();
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
  WritePairs("facts", event.meta, json);
  WriteBody("request", event.request, bodies, json);
  WriteBody("answer", event.response, bodies, json);
  if (bodies) {
    WritePairs("request_headers", event.request_headers, json);
    WriteExchange(event, json);
  }
  if (view.is_model()) WriteModel(view, json);
  json->EndObject();
}

void WriteRun(const RunView& view, JsonWriter* json) {
  const schema::RecordedRun& recorded = *view.recorded;
  json->BeginObject();
  WriteRunHead(recorded.run, json);
  const schema::EndState state = recorded.end ? recorded.end->state : recorded.state;
  json->TextField("state", schema::ToString(state));
  json->TextField("state_detail", recorded.end ? recorded.end->detail : "");
  json->BoolField("in_progress", recorded.in_progress);
  if (recorded.end) {
    json->IntField("elapsed_ns",
                   Elapsed(recorded.run.started.monotonic_ns, recorded.end->at.monotonic_ns));
  } else {
    json->NullField("elapsed_ns");
  }
  WritePairs("tags", recorded.run.tags, json);
  WritePairs("process", recorded.run.process, json);
  WriteBody("input", recorded.run.input, true, json);
  WriteBody("output", recorded.end ? recorded.end->output : schema::Body{}, true, json);
  json->Key("incidents");
  json->BeginArray();
  for (const schema::Mark& mark : recorded.marks) {
    json->BeginObject();
    json->TextField("id", schema::ToString(mark.id));
    json->TextField("title", mark.title);
    json->IntField("severity", mark.severity);
    json->TextField("notes", mark.notes);
    json->EndObject();
  }
  json->EndArray();
  json->Key("components");
  json->BeginArray();
  for (const schema::Component& component : recorded.components) {
    json->BeginObject();
    json->TextField("kind", component.kind);
    json->TextField("name", component.name);
    json->TextField("version", component.version);
    WriteBody("content", component.content, false, json);
    json->EndObject();
  }
  json->EndArray();
  json->Key("gaps");
  json->BeginArray();
  for (const schema::Gap& gap : recorded.gaps) {
    json->BeginObject();
    json->TextField("reason", gap.reason);
    json->UintField("count", gap.count);
    json->UintField("bytes", gap.bytes);
    json->EndObject();
  }
  json->EndArray();
  json->Key("concerns");
  json->BeginArray();
  for (const Concern& concern : FindConcerns(view)) {
    json->BeginObject();
    json->TextField("gravity", concern.wrong ? "wrong" : "careful");
    WriteOptional("event", concern.event, json);
    json->TextField("text", concern.text);
    json->EndObject();
  }
  json->EndArray();
  json->Key("events");
  json->BeginArray();
  for (const EventView& event : view.events) WriteEvent(event, false, json);
  json->EndArray();
  json->EndObject();
}

}  // namespace reenact::tools
