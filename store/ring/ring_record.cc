#include "store/ring/ring_record.h"

#include <algorithm>

#include "schema/varint.h"

namespace reenact::store {
namespace {

using schema::Reader;
using schema::Writer;

constexpr uint64_t kRedacted = 1;
constexpr uint64_t kCut = 2;

void PutPairs(Writer* out, const std::vector<std::pair<std::string, std::string>>& pairs) {
  out->Varint(pairs.size());
  for (const auto& [name, value] : pairs) {
    out->String(name);
    out->String(value);
  }
}

void PutPairsIfAny(Writer* out, const std::vector<std::pair<std::string, std::string>>* pairs) {
  if (pairs == nullptr) {
    out->Varint(0);
  } else {
    PutPairs(out, *pairs);
  }
}

std::vector<std::pair<std::string, std::string>> ReadPairs(Reader* reader) {
  std::vector<std::pair<std::string, std::string>> pairs;
  // A damaged count ends with the bytes: nothing is reserved by it.
  for (uint64_t count = reader->Varint(); count > 0 && reader->ok(); --count) {
    std::string name(reader->String());
    pairs.emplace_back(std::move(name), reader->String());
  }
  return pairs;
}

void PutUlid(Writer* out, const schema::Ulid& ulid) {
  out->Bytes(ulid.AsBytes());
}

// Values run from 1 to `last`; anything else makes the reader fail.
template <typename Enum>
Enum ReadEnum(Reader* reader, Enum last) {
  const uint64_t value = reader->Varint();
  if (value == 0 || value > static_cast<uint64_t>(last)) reader->Bytes(UINT64_MAX);
  return static_cast<Enum>(value);
}

schema::Ulid ReadUlid(Reader* reader) {
  return schema::UlidFromBytes(reader->Bytes(16)).value_or(schema::Ulid{});
}

void PutDigest(Writer* out, const schema::Digest& digest) {
  out->Bytes(schema::AsBytes(digest));
}

schema::Digest ReadDigest(Reader* reader) {
  schema::Digest digest{};
  const std::string_view bytes = reader->Bytes(digest.size());
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

void PutMoment(Writer* out, const schema::Moment& moment) {
  out->Signed(moment.wall_ns);
  out->Signed(moment.monotonic_ns);
}

schema::Moment ReadMoment(Reader* reader) {
  schema::Moment moment;
  moment.wall_ns = reader->Signed();
  moment.monotonic_ns = reader->Signed();
  return moment;
}

// What there is to say of a body besides its bytes, which are the tail.
void PutBodyFacts(Writer* out, const schema::Body& body) {
  out->Varint((body.redacted ? kRedacted : 0) | (body.cut ? kCut : 0));
  if (!body.cut) return;
  out->Varint(body.original_size);
  PutDigest(out, body.original_digest);
}

void PutBodyFactsIfAny(Writer* out, const schema::Body* body) {
  if (body == nullptr) {
    out->Varint(0);
  } else {
    PutBodyFacts(out, *body);
  }
}

schema::Body ReadBodyFacts(Reader* reader) {
  schema::Body body;
  const uint64_t flags = reader->Varint();
  body.redacted = (flags & kRedacted) != 0;
  body.cut = (flags & kCut) != 0;
  if (body.cut) {
    body.original_size = reader->Varint();
    body.original_digest = ReadDigest(reader);
  }
  return body;
}

void PutSpilled(Writer* out, const SpilledBody& spilled) {
  out->String(spilled.path);
  out->Varint(spilled.size);
  out->Varint(spilled.cut ? 1 : 0);
  if (!spilled.cut) return;
  out->Varint(spilled.original_size);
  PutDigest(out, spilled.original_digest);
}

SpilledBody ReadSpilled(Reader* reader) {
  SpilledBody spilled;
  spilled.path = reader->String();
  spilled.size = reader->Varint();
  spilled.cut = reader->Varint() != 0;
  if (spilled.cut) {
    spilled.original_size = reader->Varint();
    spilled.original_digest = ReadDigest(reader);
  }
  return spilled;
}

// A value with its tail, or nothing when the bytes ended too soon or were followed by others.
template <typename T>
std::optional<T> Checked(const Reader& reader, T value) {
  if (!reader.ok() || !reader.AtEnd()) return std::nullopt;
  return value;
}

}  // namespace

void EncodeRun(const schema::Run& run, std::string* out) {
  Writer writer(out);
  PutUlid(&writer, run.id);
  PutUlid(&writer, run.parent);
  writer.Varint(static_cast<uint64_t>(run.origin));
  writer.String(run.service);
  writer.String(run.entry);
  writer.String(run.trace_id);
  PutPairs(&writer, run.tags);
  PutPairs(&writer, run.process);
  PutMoment(&writer, run.started);
  PutBodyFacts(&writer, run.input);
  writer.Flush();
}

std::optional<schema::Run> DecodeRun(std::string_view payload) {
  Reader reader(payload);
  schema::Run run;
  run.id = ReadUlid(&reader);
  run.parent = ReadUlid(&reader);
  run.origin = ReadEnum(&reader, schema::RunOrigin::kImported);
  run.service = reader.String();
  run.entry = reader.String();
  run.trace_id = reader.String();
  run.tags = ReadPairs(&reader);
  run.process = ReadPairs(&reader);
  run.started = ReadMoment(&reader);
  run.input = ReadBodyFacts(&reader);
  run.input.bytes = reader.Rest();
  return Checked(reader, std::move(run));
}

void EncodeRunEnd(const schema::RunEnd& end, std::string* out) {
  Writer writer(out);
  PutUlid(&writer, end.run);
  PutMoment(&writer, end.at);
  writer.Varint(static_cast<uint64_t>(end.state));
  writer.String(end.detail);
  PutBodyFacts(&writer, end.output);
  writer.Flush();
}

std::optional<schema::RunEnd> DecodeRunEnd(std::string_view payload) {
  Reader reader(payload);
  schema::RunEnd end;
  end.run = ReadUlid(&reader);
  end.at = ReadMoment(&reader);
  end.state = ReadEnum(&reader, schema::EndState::kIncomplete);
  end.detail = reader.String();
  end.output = ReadBodyFacts(&reader);
  end.output.bytes = reader.Rest();
  return Checked(reader, std::move(end));
}

void EncodeComponent(const schema::Ulid& run, const schema::Component& component,
                     std::string* out) {
  Writer writer(out);
  PutUlid(&writer, run);
  writer.String(component.kind);
  writer.String(component.name);
  writer.String(component.version);
  PutMoment(&writer, component.at);
  PutBodyFacts(&writer, component.content);
  writer.Flush();
}

std::optional<RunComponent> DecodeComponent(std::string_view payload) {
  Reader reader(payload);
  RunComponent decoded;
  decoded.run = ReadUlid(&reader);
  schema::Component& component = decoded.component;
  component.kind = reader.String();
  component.name = reader.String();
  component.version = reader.String();
  component.at = ReadMoment(&reader);
  component.content = ReadBodyFacts(&reader);
  component.content.bytes = reader.Rest();
  return Checked(reader, std::move(decoded));
}

void EncodeCallBegin(const StartedCall& call, const SpilledBody& request_spilled,
                     std::string* out) {
  Writer writer(out);
  PutUlid(&writer, call.run);
  writer.String(call.scope);
  writer.Varint(static_cast<uint64_t>(call.boundary));
  writer.String(call.name);
  writer.String(call.provider);
  writer.String(call.endpoint);
  PutPairsIfAny(&writer, call.request_headers);
  PutMoment(&writer, call.started);
  writer.Varint(call.attempt);
  writer.Varint(call.in_flight);
  PutPairsIfAny(&writer, call.meta);
  PutSpilled(&writer, request_spilled);
  PutBodyFactsIfAny(&writer, call.request);
  writer.Flush();
}

void EncodeCallBegin(const schema::Event& event, const SpilledBody& request_spilled,
                     std::string* out) {
  EncodeCallBegin(StartedCall{.run = event.run,
                              .scope = event.scope,
                              .boundary = event.boundary,
                              .name = event.name,
                              .provider = event.provider,
                              .endpoint = event.endpoint,
                              .request_headers = &event.request_headers,
                              .started = event.started,
                              .attempt = event.attempt,
                              .in_flight = event.in_flight,
                              .meta = &event.meta,
                              .request = &event.request},
                  request_spilled, out);
}

std::optional<CallBegin> DecodeCallBegin(std::string_view payload) {
  Reader reader(payload);
  CallBegin begin;
  schema::Event& event = begin.event;
  event.run = ReadUlid(&reader);
  event.scope = reader.String();
  event.boundary = ReadEnum(&reader, schema::Boundary::kEnv);
  event.name = reader.String();
  event.provider = reader.String();
  event.endpoint = reader.String();
  event.request_headers = ReadPairs(&reader);
  event.started = ReadMoment(&reader);
  event.attempt = static_cast<uint32_t>(reader.Varint());
  event.in_flight = static_cast<uint32_t>(reader.Varint());
  event.meta = ReadPairs(&reader);
  begin.spilled = ReadSpilled(&reader);
  event.request = ReadBodyFacts(&reader);
  event.request.bytes = reader.Rest();
  return Checked(reader, std::move(begin));
}

void EncodeCallEnd(const CallEnd& end, std::string* out) {
  Writer writer(out);
  writer.Varint(end.begin_sequence);
  writer.Signed(end.elapsed_ns);
  writer.Varint(static_cast<uint64_t>(end.state));
  writer.String(end.detail);
  PutPairs(&writer, end.meta);
  writer.String(end.exchange);
  PutSpilled(&writer, end.spilled);
  writer.Flush();
}

std::optional<EndedCall> DecodeCallEnd(std::string_view payload) {
  Reader reader(payload);
  EndedCall ended;
  ended.end.begin_sequence = reader.Varint();
  ended.end.elapsed_ns = reader.Signed();
  ended.end.state = ReadEnum(&reader, schema::EndState::kIncomplete);
  ended.end.detail = reader.String();
  ended.end.meta = ReadPairs(&reader);
  ended.end.exchange = reader.String();
  ended.end.spilled = ReadSpilled(&reader);
  ended.response = reader.Rest();
  return Checked(reader, std::move(ended));
}

void EncodeReading(const schema::Event& event, std::string* out) {
  Writer writer(out);
  PutUlid(&writer, event.run);
  writer.String(event.scope);
  writer.Varint(static_cast<uint64_t>(event.boundary));
  writer.String(event.name);
  writer.Varint(event.value);
  PutMoment(&writer, event.started);
  writer.Varint(static_cast<uint64_t>(event.end_state));
  writer.String(event.end_detail);
  PutPairs(&writer, event.meta);
  writer.Flush();
}

std::optional<schema::Event> DecodeReading(std::string_view payload) {
  Reader reader(payload);
  schema::Event event;
  event.run = ReadUlid(&reader);
  event.scope = reader.String();
  event.boundary = ReadEnum(&reader, schema::Boundary::kEnv);
  event.name = reader.String();
  event.value = reader.Varint();
  event.started = ReadMoment(&reader);
  event.end_state = ReadEnum(&reader, schema::EndState::kIncomplete);
  event.end_detail = reader.String();
  event.meta = ReadPairs(&reader);
  return Checked(reader, std::move(event));
}

void EncodeMark(const schema::Mark& mark, std::string* out) {
  Writer writer(out);
  PutUlid(&writer, mark.id);
  PutUlid(&writer, mark.run);
  writer.String(mark.title);
  writer.Signed(mark.severity);
  writer.String(mark.notes);
  PutMoment(&writer, mark.at);
  writer.Flush();
}

std::optional<schema::Mark> DecodeMark(std::string_view payload) {
  Reader reader(payload);
  schema::Mark mark;
  mark.id = ReadUlid(&reader);
  mark.run = ReadUlid(&reader);
  mark.title = reader.String();
  mark.severity = static_cast<int32_t>(reader.Signed());
  mark.notes = reader.String();
  mark.at = ReadMoment(&reader);
  return Checked(reader, std::move(mark));
}

void EncodeTags(const schema::Ulid& run, const schema::Tags& tags, std::string* out) {
  Writer writer(out);
  PutUlid(&writer, run);
  PutPairs(&writer, tags);
  writer.Flush();
}

std::optional<RunTags> DecodeTags(std::string_view payload) {
  Reader reader(payload);
  RunTags decoded;
  decoded.run = ReadUlid(&reader);
  decoded.tags = ReadPairs(&reader);
  return Checked(reader, std::move(decoded));
}

}  // namespace reenact::store
