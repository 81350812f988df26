// The lines of an export. Reading is strict: a line that is missing, repeated or of another form
// is DataLoss with its number, so that a file cut in transit never passes for a whole one.

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

#include "store/reader/bundle.h"
#include "store/reader/internal/jsonl_record.h"
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

// The last line of every run: `finished` false where the record ends before the run did.
Json EndToJson(const schema::RecordedRun& recorded) {
  Json line = internal::LineOf("end", recorded.run.id);
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
      schema::Run run = internal::ReadRun(&fields);
      // Zeros stand for "no run": such a one could not be found again.
      if (fields.ok() && run.id.IsZero()) return "the run id is all zeros";
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
      recorded->components.push_back(internal::ReadComponent(fields));
    } else if (type == "event") {
      recorded->events.push_back(internal::ReadEvent(fields));
    } else if (type == "gap") {
      recorded->gaps.push_back(internal::ReadGap(fields));
    } else if (type == "mark") {
      recorded->marks.push_back(internal::ReadMark(fields));
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
    AppendLine(internal::RunLine(recorded.run), &out);
    for (const auto& component : recorded.components)
      AppendLine(internal::ComponentLine(id, component), &out);
    for (const auto& event : recorded.events) AppendLine(internal::EventLine(event), &out);
    for (const auto& gap : recorded.gaps) AppendLine(internal::GapLine(id, gap), &out);
    for (const auto& mark : recorded.marks) AppendLine(internal::MarkLine(mark), &out);
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
