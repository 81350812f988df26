#include "store/writer/internal/row_writer.h"

#include <optional>

#include "store/format/pairs.h"
#include "store/format/tables.h"

namespace reenact::store {

using sqlite::Failure;

RowWriter::RowWriter(const BodyWriterOptions& options) : bodies_(&chain_, options) {}

Failure RowWriter::Open(sqlite::Connection* connection, schema::Ulid* segment_id) {
  Failure failure = lookup_.Open(connection);
  std::optional<std::string> stored;
  if (failure == Failure::kNone) failure = lookup_.FindMeta(kMetaSegmentId, &stored);
  // A segment that is opened again knows its id; the chain starts with it.
  if (stored.has_value()) *segment_id = schema::UlidFromBytes(*stored).value_or(*segment_id);
  if (failure == Failure::kNone) failure = chain_.Open(connection, *segment_id);
  if (failure == Failure::kNone) failure = bodies_.Open(connection);
  return failure;
}

void RowWriter::BodyColumn(int64_t ordinal) {
  if (ordinal == 0) {
    chain_.Null();
  } else {
    chain_.Integer(ordinal);
  }
}

void RowWriter::MomentColumns(const schema::Moment& moment) {
  chain_.Integer(moment.wall_ns);
  chain_.Integer(moment.monotonic_ns);
}

Failure RowWriter::KnownRun(const schema::Ulid& id, int64_t* run) {
  const Failure failure = lookup_.FindRun(id, run);
  if (failure != Failure::kNone || *run != 0) return failure;
  contradiction_ = "does not hold run " + schema::ToString(id);
  return Failure::kConstraint;
}

Failure RowWriter::AddRun(const schema::Run& run) {
  int64_t ordinal = 0;
  Failure failure = lookup_.FindRun(run.id, &ordinal);
  if (failure != Failure::kNone || ordinal != 0) return failure;
  int64_t input = 0;
  failure = bodies_.Add(run.input, {}, &input);
  if (failure != Failure::kNone) return failure;
  EncodePairs(run.process, &meta_);
  ordinal = chain_.Begin(kRunTable);
  chain_.Blob(run.id.AsBytes());
  chain_.Blob(run.parent.IsZero() ? std::string_view() : run.parent.AsBytes());
  chain_.Integer(static_cast<int64_t>(run.origin));
  chain_.Text(run.service);
  chain_.Text(run.entry);
  BodyColumn(input);
  chain_.Text(run.trace_id);
  chain_.Blob(meta_);
  MomentColumns(run.started);
  chain_.EndChain();
  failure = chain_.Append();
  if (failure == Failure::kNone) failure = AppendTags(ordinal, run.tags);
  if (failure == Failure::kNone) lookup_.RememberRun(run.id, ordinal);
  return failure;
}

Failure RowWriter::AddTags(const schema::Ulid& run_id, const schema::Tags& tags) {
  int64_t run = 0;
  const Failure failure = KnownRun(run_id, &run);
  return failure == Failure::kNone ? AppendTags(run, tags) : failure;
}

Failure RowWriter::AppendTags(int64_t run, const schema::Tags& tags) {
  for (const auto& [key, value] : tags) {
    bool found = false;
    Failure failure = lookup_.HasTag(run, key, value, &found);
    if (failure != Failure::kNone) return failure;
    if (found) continue;
    chain_.Begin(kRunTagTable);
    chain_.Integer(run);
    chain_.Text(key);
    chain_.Text(value);
    chain_.EndChain();
    failure = chain_.Append();
    if (failure != Failure::kNone) return failure;
  }
  return Failure::kNone;
}

Failure RowWriter::AddRunEnd(const schema::RunEnd& end) {
  int64_t run = 0;
  bool found = false;
  Failure failure = KnownRun(end.run, &run);
  if (failure == Failure::kNone) failure = lookup_.HasRunEnd(run, &found);
  if (failure != Failure::kNone || found) return failure;
  int64_t output = 0;
  failure = bodies_.Add(end.output, {}, &output);
  if (failure != Failure::kNone) return failure;
  chain_.Begin(kRunEndTable);
  chain_.Integer(run);
  MomentColumns(end.at);
  chain_.Integer(static_cast<int64_t>(end.state));
  chain_.Text(end.detail);
  BodyColumn(output);
  chain_.EndChain();
  failure = chain_.Append();
  if (failure == Failure::kNone) bodies_.ForgetRun(run);
  return failure;
}

Failure RowWriter::AddComponent(const schema::Ulid& run_id, const schema::Component& component) {
  int64_t run = 0;
  bool found = false;
  Failure failure = KnownRun(run_id, &run);
  if (failure == Failure::kNone) failure = lookup_.HasComponent(run, component, &found);
  if (failure != Failure::kNone || found) return failure;
  int64_t content = 0;
  failure = bodies_.Add(component.content, {.always_dedupe = true}, &content);
  if (failure != Failure::kNone) return failure;
  chain_.Begin(kComponentTable);
  chain_.Integer(run);
  chain_.Text(component.kind);
  chain_.Text(component.name);
  chain_.Text(component.version);
  BodyColumn(content);
  MomentColumns(component.at);
  chain_.EndChain();
  return chain_.Append();
}

// A call that was open has its request stored; it is taken over if it is the same still.
Failure RowWriter::AddRequest(const schema::Event& event, int64_t run, int64_t* ordinal) {
  if (lookup_.IsOpenCall(event.sequence)) {
    OpenRequest open;
    Failure failure = lookup_.FindOpenRequest(event.sequence, &open);
    if (failure == Failure::kNone) failure = lookup_.DeleteOpenCall(event.sequence);
    if (failure != Failure::kNone) return failure;
    const std::string_view salt(reinterpret_cast<const char*>(open.salt.data()), open.salt.size());
    if (open.ordinal != 0 && BodyDigest(salt, event.request.bytes) == open.digest) {
      *ordinal = open.ordinal;
      return Failure::kNone;
    }
  }
  return bodies_.Add(event.request, {.run = run, .role = BodyRole::kRequest, .name = event.name},
                     ordinal);
}

Failure RowWriter::AddEvent(const schema::Event& event) {
  bool found = false;
  Failure failure = lookup_.HasEvent(event.sequence, &found);
  if (failure != Failure::kNone || found) return failure;
  int64_t run = 0;
  failure = KnownRun(event.run, &run);
  int64_t request = 0;
  int64_t response = 0;
  if (failure == Failure::kNone) failure = AddRequest(event, run, &request);
  if (failure == Failure::kNone) {
    failure = bodies_.Add(event.response,
                          {.run = run, .role = BodyRole::kResponse, .name = event.name}, &response);
  }
  if (failure == Failure::kNone) failure = AppendEvent(event, run, request, response);
  if (failure == Failure::kNone) lookup_.RememberEvent(event.sequence);
  return failure;
}

Failure RowWriter::AppendEvent(const schema::Event& event, int64_t run, int64_t request,
                               int64_t response) {
  EncodePairs(event.request_headers, &headers_);
  EncodePairs(event.meta, &meta_);
  packed_.clear();
  if (!event.exchange.empty() &&
      !column_encoder_.Pack(schema::EncodeExchange(event.exchange), &packed_)) {
    return Failure::kNoMemory;
  }
  char value[8];
  for (int i = 0; i < 8; ++i) value[i] = static_cast<char>(event.value >> (56 - 8 * i));
  chain_.Begin(kEventTable);
  chain_.Integer(static_cast<int64_t>(event.sequence));
  chain_.Integer(static_cast<int64_t>(event.end_sequence));
  chain_.Integer(run);
  chain_.Text(event.scope);
  chain_.Integer(static_cast<int64_t>(event.boundary));
  chain_.Text(event.name);
  chain_.Text(event.provider);
  chain_.Text(event.endpoint);
  chain_.Blob(headers_);
  BodyColumn(request);
  BodyColumn(response);
  chain_.Blob(packed_);
  if (event.value == 0) {
    chain_.Null();
  } else {
    chain_.Blob({value, sizeof(value)});
  }
  MomentColumns(event.started);
  chain_.Integer(event.elapsed_ns);
  chain_.Integer(static_cast<int64_t>(event.end_state));
  chain_.Text(event.end_detail);
  chain_.Integer(event.attempt);
  chain_.Integer(event.in_flight);
  chain_.Blob(meta_);
  chain_.EndChain();
  return chain_.Append();
}

Failure RowWriter::AddOpenCall(const schema::Event& begin) {
  bool found = lookup_.IsOpenCall(begin.sequence);
  if (found) return Failure::kNone;
  Failure failure = lookup_.HasEvent(begin.sequence, &found);
  if (failure != Failure::kNone || found) return failure;
  int64_t run = 0;
  int64_t request = 0;
  failure = KnownRun(begin.run, &run);
  if (failure == Failure::kNone) {
    failure = bodies_.Add(begin.request,
                          {.run = run, .role = BodyRole::kRequest, .name = begin.name}, &request);
  }
  if (failure == Failure::kNone) failure = lookup_.InsertOpenCall(begin, run, request);
  return failure;
}

// The request is not even decoded: what is damaged there shows when it is read, and hinders nothing
// here.
Failure RowWriter::CloseOpenCalls() {
  for (const uint64_t sequence : lookup_.OpenCalls()) {
    schema::Event event;
    OpenCallRefs refs;
    Failure failure = lookup_.ReadOpenCall(sequence, &event, &refs);
    event.end_state = schema::EndState::kIncomplete;
    if (failure == Failure::kNone) failure = AppendEvent(event, refs.run, refs.request_body, 0);
    if (failure == Failure::kNone) failure = lookup_.DeleteOpenCall(sequence);
    if (failure != Failure::kNone) return failure;
    lookup_.RememberEvent(sequence);
  }
  return Failure::kNone;
}

Failure RowWriter::AddGap(const schema::Gap& gap) {
  bool found = false;
  const Failure failure = lookup_.HasGap(gap, &found);
  if (failure != Failure::kNone || found) return failure;
  chain_.Begin(kGapTable);
  MomentColumns(gap.at);
  chain_.Text(gap.reason);
  chain_.Integer(static_cast<int64_t>(gap.count));
  chain_.Integer(static_cast<int64_t>(gap.bytes));
  chain_.Integer(static_cast<int64_t>(gap.first_sequence));
  chain_.Integer(static_cast<int64_t>(gap.last_sequence));
  chain_.EndChain();
  return chain_.Append();
}

Failure RowWriter::AddMark(const schema::Mark& mark) {
  bool found = false;
  const Failure failure = lookup_.HasMark(mark.id, &found);
  if (failure != Failure::kNone || found) return failure;
  chain_.Begin(kMarkTable);
  chain_.Blob(mark.id.AsBytes());
  chain_.Blob(mark.run.AsBytes());
  chain_.Text(mark.title);
  chain_.Integer(mark.severity);
  chain_.Text(mark.notes);
  MomentColumns(mark.at);
  chain_.EndChain();
  return chain_.Append();
}

Failure RowWriter::SetMeta(std::string_view key, std::string_view value) {
  std::optional<std::string> stored;
  const Failure failure = lookup_.FindMeta(key, &stored);
  if (failure != Failure::kNone || stored == value) return failure;
  chain_.Begin(kMetaTable);
  chain_.Text(key);
  chain_.Blob(value);
  chain_.EndChain();
  return chain_.Append();
}

void RowWriter::RolledBack() {
  chain_.RolledBack();
  bodies_.RolledBack();
}

void RowWriter::Close() {
  chain_.Close();
  lookup_ = RowLookup();
}

void RowWriter::Abandon() {
  chain_.Abandon();
  lookup_.Abandon();
}

}  // namespace reenact::store
