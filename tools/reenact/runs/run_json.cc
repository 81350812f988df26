#include "tools/reenact/runs/run_json.h"

#include <optional>
#include <string>
#include <vector>

#include "tools/reenact/io/time_text.h"

namespace reenact::tools {
namespace {

void WriteRunHead(const schema::Run& run, JsonWriter* json) {
  json->TextField("id", schema::ToString(run.id));
  json->GivenTextField("parent", run.parent.IsZero() ? "" : schema::ToString(run.parent));
  json->TextField("service", run.service);
  json->TextField("entry", run.entry);
  json->TextField("trace_id", run.trace_id);
  json->TimeField("started", run.started.wall_ns);
}

void WriteMarks(const std::vector<schema::Mark>& marks, JsonWriter* json) {
  json->Key("incidents");
  json->BeginArray();
  for (const schema::Mark& mark : marks) {
    json->BeginObject();
    json->TextField("id", schema::ToString(mark.id));
    json->TextField("title", mark.title);
    json->IntField("severity", mark.severity);
    json->TextField("notes", mark.notes);
    json->EndObject();
  }
  json->EndArray();
}

void WriteComponents(const std::vector<schema::Component>& components, JsonWriter* json) {
  json->Key("components");
  json->BeginArray();
  for (const schema::Component& component : components) {
    json->BeginObject();
    json->TextField("kind", component.kind);
    json->TextField("name", component.name);
    json->TextField("version", component.version);
    WriteBody("content", component.content, false, json);
    json->EndObject();
  }
  json->EndArray();
}

void WriteGaps(const std::vector<schema::Gap>& gaps, JsonWriter* json) {
  json->Key("gaps");
  json->BeginArray();
  for (const schema::Gap& gap : gaps) {
    json->BeginObject();
    json->TextField("reason", gap.reason);
    json->UintField("count", gap.count);
    json->UintField("bytes", gap.bytes);
    json->EndObject();
  }
  json->EndArray();
}

void WriteConcerns(const std::vector<Concern>& concerns, JsonWriter* json) {
  json->Key("concerns");
  json->BeginArray();
  for (const Concern& concern : concerns) {
    json->BeginObject();
    json->TextField("gravity", concern.wrong ? "wrong" : "careful");
    json->OptionalIntField("event", concern.event);
    json->TextField("text", concern.text);
    json->EndObject();
  }
  json->EndArray();
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
  json->PairsField("tags", run.tags);
  json->IntField("model_calls", run.model_calls);
  json->IntField("tool_calls", run.tool_calls);
  json->IntField("retrievals", run.retrievals);
  json->IntField("error_calls", run.error_calls);
  json->UintField("lost_events", run.lost_events);
  json->TextsField("asked_models", run.asked_models);
  json->TextsField("served_models", run.served_models);
  json->TextsField("fingerprints", run.fingerprints);
  json->TextsField("errors", run.errors);
  json->Key("incidents");
  json->BeginArray();
  for (const schema::Ulid& incident : run.incidents) json->Text(schema::ToString(incident));
  json->EndArray();
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
  json->PairsField("tags", recorded.run.tags);
  json->PairsField("process", recorded.run.process);
  WriteBody("input", recorded.run.input, true, json);
  WriteBody("output", recorded.end ? recorded.end->output : schema::Body{}, true, json);
  WriteMarks(recorded.marks, json);
  WriteComponents(recorded.components, json);
  WriteGaps(recorded.gaps, json);
  WriteConcerns(FindConcerns(view), json);
  json->Key("events");
  json->BeginArray();
  for (const EventView& event : view.events) WriteEvent(event, false, json);
  json->EndArray();
  json->EndObject();
}

}  // namespace reenact::tools
