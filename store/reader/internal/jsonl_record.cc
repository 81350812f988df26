#include "store/reader/internal/jsonl_record.h"

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

namespace reenact::store::internal {
namespace {

std::string_view OriginName(schema::RunOrigin origin) {
  switch (origin) {
    case schema::RunOrigin::kRecorded:
      return "recorded";
    case schema::RunOrigin::kReplay:
      return "replay";
    case schema::RunOrigin::kImported:
      return "imported";
  }
  return "recorded";
}

std::optional<schema::RunOrigin> ParseOrigin(std::string_view text) {
  for (const auto origin :
       {schema::RunOrigin::kRecorded, schema::RunOrigin::kReplay, schema::RunOrigin::kImported}) {
    if (OriginName(origin) == text) return origin;
  }
  return std::nullopt;
}

// A record's members by name, listed once for both ways: `fields(name, member)` writes the member
// to a line, or reads it from one.
template <class Fields, class Run>
void ListRun(Fields&& fields, Run& run) {
  fields("parent", run.parent);
  fields("origin", run.origin);
  fields("service", run.service);
  fields("entry", run.entry);
  fields("trace_id", run.trace_id);
  fields("started", run.started);
  fields("tags", run.tags);
  fields("process", run.process);
  fields("input", run.input);
}

template <class Fields, class Component>
void ListComponent(Fields&& fields, Component& component) {
  fields("kind", component.kind);
  fields("name", component.name);
  fields("version", component.version);
  fields("at", component.at);
  fields("content", component.content);
}

template <class Fields, class Event>
void ListEvent(Fields&& fields, Event& event) {
  fields("sequence", event.sequence);
  fields("end_sequence", event.end_sequence);
  fields("boundary", event.boundary);
  fields("scope", event.scope);
  fields("name", event.name);
  fields("provider", event.provider);
  fields("endpoint", event.endpoint);
  fields("started", event.started);
  fields("elapsed_ns", event.elapsed_ns);
  fields("end_state", event.end_state);
  fields("end_detail", event.end_detail);
  fields("attempt", event.attempt);
  fields("in_flight", event.in_flight);
  fields("value", event.value);
  fields("meta", event.meta);
  fields("request_headers", event.request_headers);
  fields("request", event.request);
  fields("exchange", event.exchange);
  fields("response", event.response);
}

template <class Fields, class Gap>
void ListGap(Fields&& fields, Gap& gap) {
  fields("at", gap.at);
  fields("reason", gap.reason);
  fields("count", gap.count);
  fields("bytes", gap.bytes);
  fields("first_sequence", gap.first_sequence);
  fields("last_sequence", gap.last_sequence);
}

template <class Fields, class Mark>
void ListMark(Fields&& fields, Mark& mark) {
  fields("incident", mark.id);
  fields("title", mark.title);
  fields("severity", mark.severity);
  fields("notes", mark.notes);
  fields("at", mark.at);
}

class LineWriter {
 public:
  LineWriter(const char* type, const schema::Ulid& run) : line_(LineOf(type, run)) {}

  template <class Member>
  void operator()(const char* name, const Member& member) {
    if constexpr (std::is_same_v<Member, std::string>) {
      line_[name] = TextToJson(member);
    } else if constexpr (std::is_same_v<Member, schema::Tags>) {
      line_[name] = TagsToJson(member);
    } else if constexpr (std::is_same_v<Member, schema::Moment>) {
      line_[name] = MomentToJson(member);
    } else if constexpr (std::is_same_v<Member, schema::Body>) {
      line_[name] = BodyToJson(member);
    } else if constexpr (std::is_same_v<Member, schema::Exchange>) {
      line_[name] = ExchangeToJson(member);
    } else if constexpr (std::is_same_v<Member, schema::RunOrigin>) {
      line_[name] = OriginName(member);
    } else if constexpr (std::is_same_v<Member, int32_t>) {
      line_[name] = member;
    } else if constexpr (std::is_same_v<Member, int64_t>) {
      line_[name] = NumberToJson(member);
    } else if constexpr (std::is_unsigned_v<Member>) {
      line_[name] = UnsignedToJson(member);
    } else {
      line_[name] = ToString(member);
    }
  }

  Json Take() { return std::move(line_); }

 private:
  Json line_;
};

class LineReader {
 public:
  explicit LineReader(JsonFields* fields) : fields_(*fields) {}

  void operator()(const char* name, std::string& member) { member = fields_.Text(name); }

  void operator()(const char* name, schema::Ulid& member) { member = fields_.Id(name); }

  void operator()(const char* name, schema::Tags& member) { member = fields_.Pairs(name); }

  void operator()(const char* name, schema::Moment& member) { member = fields_.Time(name); }

  void operator()(const char* name, schema::Body& member) { member = fields_.BodyOf(name); }

  void operator()(const char* name, schema::Exchange& member) { member = fields_.ExchangeOf(name); }

  void operator()(const char* name, schema::EndState& member) { member = fields_.End(name); }

  void operator()(const char* name, int32_t& member) { member = fields_.Small(name); }

  void operator()(const char* name, int64_t& member) { member = fields_.Number(name); }

  void operator()(const char* name, uint64_t& member) { member = fields_.Unsigned(name); }

  void operator()(const char* name, uint32_t& member) {
    member = static_cast<uint32_t>(fields_.Unsigned(name));
  }

  void operator()(const char* name, schema::RunOrigin& member) {
    Named(name, ParseOrigin(fields_.Text(name)), &member);
  }

  void operator()(const char* name, schema::Boundary& member) {
    Named(name, schema::ParseBoundary(fields_.Text(name)), &member);
  }

 private:
  template <class Value>
  void Named(const char* name, const std::optional<Value>& parsed, Value* member) {
    if (!parsed) fields_.Fail(name, "is unknown");
    if (parsed) *member = *parsed;
  }

  JsonFields& fields_;
};

}  // namespace

Json LineOf(const char* type, const schema::Ulid& run) {
  return Json{{"type", type}, {"run", ToString(run)}};
}

Json RunLine(const schema::Run& run) {
  LineWriter line("run", run.id);
  ListRun(line, run);
  return line.Take();
}

Json ComponentLine(const schema::Ulid& run, const schema::Component& component) {
  LineWriter line("component", run);
  ListComponent(line, component);
  return line.Take();
}

Json EventLine(const schema::Event& event) {
  LineWriter line("event", event.run);
  ListEvent(line, event);
  return line.Take();
}

Json GapLine(const schema::Ulid& run, const schema::Gap& gap) {
  LineWriter line("gap", run);
  ListGap(line, gap);
  return line.Take();
}

Json MarkLine(const schema::Mark& mark) {
  LineWriter line("mark", mark.run);
  ListMark(line, mark);
  return line.Take();
}

schema::Run ReadRun(JsonFields* fields) {
  schema::Run run;
  run.id = fields->Id("run");
  ListRun(LineReader(fields), run);
  return run;
}

schema::Component ReadComponent(JsonFields* fields) {
  schema::Component component;
  ListComponent(LineReader(fields), component);
  return component;
}

schema::Event ReadEvent(JsonFields* fields) {
  schema::Event event;
  event.run = fields->Id("run");
  ListEvent(LineReader(fields), event);
  if (fields->ok() && !event.exchange.empty() &&
      BodySize(event.exchange) != event.response.bytes.size())
    fields->Fail("exchange", "does not add up to the size of the response");
  return event;
}

schema::Gap ReadGap(JsonFields* fields) {
  schema::Gap gap;
  ListGap(LineReader(fields), gap);
  return gap;
}

schema::Mark ReadMark(JsonFields* fields) {
  schema::Mark mark;
  mark.run = fields->Id("run");
  ListMark(LineReader(fields), mark);
  return mark;
}

}  // namespace reenact::store::internal
