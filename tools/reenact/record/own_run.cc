#include "tools/reenact/record/own_run.h"

#include <algorithm>
#include <utility>

#include "schema/redaction.h"
#include "schema/sha256.h"
#include "store/reader/bundle.h"
#include "store/store_layout.h"
#include "tools/reenact/open_store.h"

namespace reenact::tools {
namespace {

void Redact(const schema::Redactor& redactor, schema::Body* body) {
  schema::Redacted redacted = redactor.RedactBody(body->bytes);
  if (redacted.replacements.empty()) return;
  body->bytes = std::move(redacted.bytes);
  body->redacted = true;
}

schema::RecordedRun ToRecord(OwnRun own) {
  const schema::Redactor redactor{schema::RedactionPolicy{}};
  schema::RecordedRun record;
  schema::Run& run = record.run;
  run.id = store::NewUlid();
  run.service = std::move(own.service);
  run.entry = std::move(own.entry);
  run.tags = std::move(own.tags);
  const schema::Moment now{store::WallNowNs(), store::MonotonicNowNs()};
  run.started = now;
  std::stable_sort(own.calls.begin(), own.calls.end(), [](const auto& a, const auto& b) {
    return a.started.monotonic_ns < b.started.monotonic_ns;
  });
  if (!own.calls.empty()) run.started = own.calls.front().started;
  for (schema::Component& component : own.components) {
    component.at = run.started;
    Redact(redactor, &component.content);
  }
  record.components = std::move(own.components);
  uint64_t sequence = 0;
  for (schema::Event& call : own.calls) {
    call.run = run.id;
    call.sequence = ++sequence;
    call.end_sequence = ++sequence;
    Redact(redactor, &call.request);  // Its answer was redacted as it came.
  }
  record.events = std::move(own.calls);
  record.state = schema::EndState::kComplete;
  record.end = schema::RunEnd{.run = run.id, .at = now};
  return record;
}

}  // namespace

std::string MarkOf(std::string_view content) {
  return schema::ToHex(schema::HashBytes(content)).substr(0, 32);
}

schema::Component OwnComponent(std::string kind, std::string name, std::string content) {
  schema::Component component{.kind = std::move(kind), .name = std::move(name)};
  component.version = MarkOf(content);
  component.content.bytes = std::move(content);
  return component;
}

absl::StatusOr<std::string> KeepOwnRun(OwnRun own, const Context& context) {
  const absl::StatusOr<StorePlace> place = FindStore(context);
  if (!place.ok()) return place.status();
  store::Bundle bundle;
  bundle.runs.push_back(ToRecord(std::move(own)));
  const absl::Status kept = store::ImportRuns(bundle, place->path).status();
  if (!kept.ok()) return WithPlace(kept, *place);
  return schema::ToString(bundle.runs.front().run.id);
}

}  // namespace reenact::tools
