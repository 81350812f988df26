// The lines of an export. Reading is strict: a line that is missing, repeated or of another form
// is DataLoss with its number, so that a file cut in transit never passes for a whole one.

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

#include "store/reader/bundle.h"
#include "store/reader/internal/jsonl_value.h"

namespace reenact::store {
namespace {

using internal::Json;
using internal::JsonFields;

constexpr int kFormat = 1;

void AppendLine(const Json& line, std::string* out) {
  out->append(line.dump());
  out->push_back('\n');
}

Json LineOf(const char* type, const schema::Ulid& run) {
  return Json{{"type", type}, {"run", ToString(run)}};
}

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

Json RunToJson(const schema::Run& run) {
  Json line = LineOf("run", run.id);
  line["parent"] = ToString(run.parent);
  line["origin"] = OriginName(run.origin);
  line["service"] = internal::TextToJson(run.service);
  line["entry"] = internal::TextToJson(run.entry);
  line["trace_id"] = internal::TextToJson(run.trace_id);
  line["started"] = internal::MomentToJson(run.started);
  line["tags"] = internal::TagsToJson(run.tags);
  line["process"] = internal::TagsToJson(run.process);
  line["input"] = internal::BodyToJson(run.input);
  return line;
}

schema::Run RunFromJson(JsonFields* fields) {
  schema::Run run;
  run.id = fields->Id("run");
  run.parent = fields->Id("parent");
  const std::optional<schema::RunOrigin> origin = ParseOrigin(fields->Text("origin"));
  if (!origin) fields->Fail("origin", "is unknown");
  run.origin = origin.value_or(schema::RunOrigin::kRecorded);
  run.service = fields->Text("service");
  run.entry = fields->Text("entry");
  run.trace_id = fields->Text("trace_id");
  run.started = fields->Time("started");
  run.tags = fields->Pairs("tags");
  run.process = fields->Pairs("process");
  run.input = fields->BodyOf("input");
  return run;
}

Json ComponentToJson(const schema::Ulid& run, const schema::Component& component) {
  Json line = LineOf("component", run);
  line["kind"] = internal::TextToJson(component.kind);
  line["name"] = internal::TextToJson(component.name);
  line["version"] = internal::TextToJson(component.version);
  line["at"] = internal::MomentToJson(component.at);
  line["content"] = internal::BodyToJson(component.content);
  return line;
}

schema::Component ComponentFromJson(JsonFields* fields) {
  schema::Component component;
  component.kind = fields->Text("kind");
  component.name = fields->Text("name");
  component.version = fields->Text("version");
  component.at = fields->Time("at");
  component.content = fields->BodyOf("content");
  return component;
}

Json EventToJson(const schema::Event& event) {
  Json line = LineOf("event", event.run);
  line["sequence"] = internal::UnsignedToJson(event.sequence);
  line["end_sequence"] = internal::UnsignedToJson(event.end_sequence);
  line["boundary"] = ToString(event.boundary);
  line["scope"] = internal::TextToJson(event.scope);
  line["name"] = internal::TextToJson(event.name);
  line["provider"] = internal::TextToJson(event.provider);
  line["endpoint"] = internal::TextToJson(event.endpoint);
  line["started"] = internal::MomentToJson(event.started);
  line["elapsed_ns"] = internal::NumberToJson(event.elapsed_ns);
  line["end_state"] = ToString(event.end_state);
  line["end_detail"] = internal::TextToJson(event.end_detail);
  line["attempt"] = internal::UnsignedToJson(event.attempt);
  line["in_flight"] = internal::UnsignedToJson(event.in_flight);
  line["value"] = internal::UnsignedToJson(event.value);
  line["meta"] = internal::TagsToJson(event.meta);
  line["request_headers"] = internal::TagsToJson(event.request_headers);
  line["request"] = internal::BodyToJson(event.request);
  line["exchange"] = internal::ExchangeToJson(event.exchange);
  line["response"] = internal::BodyToJson(event.response);
  return line;
}

schema::Event EventFromJson(JsonFields* fields) {
  schema::Event event;
  event.run = fields->Id("run");
  event.sequence = fields->Unsigned("sequence");
  event.end_sequence = fields->Unsigned("end_sequence");
  const auto boundary = schema::ParseBoundary(fields->Text("boundary"));
  if (!boundary) fields->Fail("boundary", "is unknown");
  event.boundary = boundary.value_or(schema::Boundary::kModel);
  event.scope = fields->Text("scope");
  event.name = fields->Text("name");
  event.provider = fields->Text("provider");
  event.endpoint = fields->Text("endpoint");
  event.started = fields->Time("started");
  event.elapsed_ns = fields->Number("elapsed_ns");
  event.end_state = fields->End("end_state");
  event.end_detail = fields->Text("end_detail");
  event.attempt = static_cast<uint32_t>(fields->Unsigned("attempt"));
  event.in_flight = static_cast<uint32_t>(fields->Unsigned("in_flight"));
  event.value = fields->Unsigned("value");
  event.meta = fields->Pairs("meta");
  event.request_headers = fields->Pairs("request_headers");
  event.request = fields->BodyOf("request");
  event.exchange = fields->ExchangeOf("exchange");
  event.response = fields->BodyOf("response");
  if (fields->ok() && !event.exchange.empty() &&
      BodySize(event.exchange) != event.response.bytes.size())
    fields->Fail("exchange", "does not add up to the size of the response");
  return event;
}

Json GapToJson(const schema::Ulid& run, const schema::Gap& gap) {
  Json line = LineOf("gap", run);
  line["at"] = internal::MomentToJson(gap.at);
  line["reason"] = internal::TextToJson(gap.reason);
  line["count"] = internal::UnsignedToJson(gap.count);
  line["bytes"] = internal::UnsignedToJson(gap.bytes);
  line["first_sequence"] = internal::UnsignedToJson(gap.first_sequence);
  line["last_sequence"] = internal::UnsignedToJson(gap.last_sequence);
  return line;
}

schema::Gap GapFromJson(JsonFields* fields) {
  schema::Gap gap;
  gap.at = fields->Time("at");
  gap.reason = fields->Text("reason");
  gap.count = fields->Unsigned("count");
  gap.bytes = fields->Unsigned("bytes");
  gap.first_sequence = fields->Unsigned("first_sequence");
  gap.last_sequence = fields->Unsigned("last_sequence");
  return gap;
}

Json MarkToJson(const schema::Mark& mark) {
  Json line = LineOf("mark", mark.run);
  line["incident"] = ToString(mark.id);
  line["title"] = internal::TextToJson(mark.title);
  line["severity"] = mark.severity;
  line["notes"] = internal::TextToJson(mark.notes);
  line["at"] = internal::MomentToJson(mark.at);
  return line;
}

schema::Mark MarkFromJson(JsonFields* fields) {
  schema::Mark mark;
  mark.id = fields->Id("incident");
  mark.run = fields->Id("run");
  mark.title = fields->Text("title");
  mark.severity = fields->Small("severity");
  mark.notes = fields->Text("notes");
  mark.at = fields->Time("at");
  return mark;
}

// The last line of every run: `finished` false where the record ends before the run did.
Json EndToJson(const schema::RecordedRun& recorded) {
  Json line = LineOf("end", recorded.run.id);
  line["state"] = ToString(recorded.state);
  line["in_progress"] = recorded.in_progress;
  line["finished"] = recorded.end.has_value();
  if (recorded.end) {
    line["at"] = internal::MomentToJson(recorded.end->at);
    line["end_state"] = ToString(recorded.end->state);
    line["detail"] = internal::TextToJson(recorded.end->detail);
    line["output"] = internal::BodyToJson(recorded.end->output);
  }
  return line;
}

void EndFromJson(JsonFields* fields, schema::RecordedRun* recorded) {
  recorded->state = fields->End("state");
  recorded->in_progress = fields->Flag("in_progress");
  if (!fields->Flag("finished")) return;
  recorded->end = schema::RunEnd{.run = recorded->run.id,
                                 .at = fields->Time("at"),
                                 .state = fields->End("end_state"),
                                 .detail = fields->Text("detail"),
                                 .output = fields->BodyOf("output")};
}

// Puts lines back together, one call a line.
class Assembler {
 public:
  explicit Assembler(Bundle* bundle) : bundle_(bundle) {}

  // The problem with the line; empty: none.
  std::string Add(const Json& line) {
    JsonFields fields(line);
    const std::string type = fields.Text("type");
    if (!fields.ok()) return fields.problem();
    if (!header_seen_) return AddHeader(type, &fields);
    if (type == "run") {
      schema::Run run = RunFromJson(&fields);
      if (fields.ok() && !index_.emplace(ToString(run.id), bundle_->runs.size()).second)
        return absl::StrCat("run ", ToString(run.id), " is there twice");
      if (fields.ok()) bundle_->runs.emplace_back().run = std::move(run);
      return fields.problem();
    }
    const schema::Ulid id = fields.Id("run");
    const auto found = index_.find(ToString(id));
    if (!fields.ok()) return fields.problem();
    if (found == index_.end()) return absl::StrCat("run ", ToString(id), " has not begun");
    if (ended_.count(found->first) != 0)
      return absl::StrCat("run ", ToString(id), " has ended already");
    AddToRun(type, &fields, &bundle_->runs[found->second]);
    return fields.problem();
  }

  // What is missing after the last line; empty: nothing.
  std::string Missing() const {
    if (!header_seen_) return "the header line is missing";
    if (bundle_->runs.size() != expected_runs_)
      return absl::StrCat("the header promises ", expected_runs_, " runs, there are ",
                          bundle_->runs.size());
    for (const auto& [id, index] : index_) {
      if (ended_.count(id) == 0) return absl::StrCat("the end line of run ", id, " is missing");
    }
    return {};
  }

 private:
  std::string AddHeader(const std::string& type, JsonFields* fields) {
    if (type != "reenact") return "this is no Reenact export: the header line is missing";
    const int32_t format = fields->Small("format");
    if (fields->ok() && format != kFormat)
      return absl::StrCat("format ", format, " is not known here; this version reads format ",
                          kFormat);
    expected_runs_ = fields->Unsigned("runs");
    bundle_->meta = fields->Pairs("meta");
    header_seen_ = fields->ok();
    return fields->problem();
  }

  void AddToRun(const std::string& type, JsonFields* fields, schema::RecordedRun* recorded) {
    if (type == "component") {
      recorded->components.push_back(ComponentFromJson(fields));
    } else if (type == "event") {
      recorded->events.push_back(EventFromJson(fields));
    } else if (type == "gap") {
      recorded->gaps.push_back(GapFromJson(fields));
    } else if (type == "mark") {
      recorded->marks.push_back(MarkFromJson(fields));
    } else if (type == "end") {
      EndFromJson(fields, recorded);
      ended_.insert(ToString(recorded->run.id));
    } else {
      fields->Fail("type", "is unknown");
    }
  }

  Bundle* bundle_;
  bool header_seen_ = false;
  uint64_t expected_runs_ = 0;
  std::unordered_map<std::string, size_t> index_;
  std::unordered_set<std::string> ended_;
};

}  // namespace

std::string ToJsonl(const Bundle& bundle) {
  std::string out;
  schema::Tags meta = bundle.meta;
  std::sort(meta.begin(), meta.end());
  AppendLine(Json{{"type", "reenact"},
                  {"format", kFormat},
                  {"runs", internal::UnsignedToJson(bundle.runs.size())},
                  {"meta", internal::TagsToJson(meta)}},
             &out);
  for (const schema::RecordedRun& recorded : bundle.runs) {
    const schema::Ulid& id = recorded.run.id;
    AppendLine(RunToJson(recorded.run), &out);
    for (const auto& component : recorded.components)
      AppendLine(ComponentToJson(id, component), &out);
    for (const auto& event : recorded.events) AppendLine(EventToJson(event), &out);
    for (const auto& gap : recorded.gaps) AppendLine(GapToJson(id, gap), &out);
    for (const auto& mark : recorded.marks) AppendLine(MarkToJson(mark), &out);
    AppendLine(EndToJson(recorded), &out);
  }
  return out;
}

absl::StatusOr<Bundle> FromJsonl(const std::string& text) {
  Bundle bundle;
  Assembler assembler(&bundle);
  int64_t line_number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const Json line = Json::parse(text.begin() + static_cast<ptrdiff_t>(begin),
                                  text.begin() + static_cast<ptrdiff_t>(end), nullptr,
                                  /*allow_exceptions=*/false);
    ++line_number;
    const std::string problem = line.is_discarded() ? "is not JSON" : assembler.Add(line);
    if (!problem.empty())
      return absl::DataLossError(absl::StrCat("line ", line_number, ": ", problem));
    begin = end + 1;
  }
  if (const std::string missing = assembler.Missing(); !missing.empty())
    return absl::DataLossError(absl::StrCat("after line ", line_number, ": ", missing));
  return bundle;
}

}  // namespace reenact::store
