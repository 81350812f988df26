#include "store/reader/internal/run_part.h"

#include <algorithm>

#include "absl/strings/ascii.h"

#include "schema/varint.h"
#include "store/reader/internal/utf8.h"

namespace reenact::store::internal {
namespace {

void AddDistinct(const std::string& value, std::vector<std::string>* list) {
  if (value.empty() || std::find(list->begin(), list->end(), value) != list->end()) return;
  list->push_back(value);
}

// With what the provider said, which is what people look for.
std::string ErrorText(schema::EndState state, const std::string& detail,
                      const std::string& message) {
  constexpr size_t kMaxMessage = 500;
  std::string text = schema::DescribeEnd(state, detail);
  if (message.empty()) return text;
  return text + ": " + message.substr(0, FloorToCharacter(message, kMaxMessage));
}

int64_t* CounterOf(schema::Boundary boundary, RunPart* part) {
  switch (boundary) {
    case schema::Boundary::kModel:
      return &part->model_calls;
    case schema::Boundary::kTool:
      return &part->tool_calls;
    case schema::Boundary::kRetrieval:
      return &part->retrievals;
    default:
      return nullptr;
  }
}

void PutStrings(std::string* out, const std::vector<std::string>& list) {
  schema::PutVarint(out, list.size());
  for (const std::string& text : list) schema::PutString(out, text);
}

void PutTags(std::string* out, const schema::Tags& tags) {
  schema::PutVarint(out, tags.size());
  for (const auto& [key, value] : tags) {
    schema::PutString(out, key);
    schema::PutString(out, value);
  }
}

void PutMoment(std::string* out, const schema::Moment& moment) {
  schema::PutSigned(out, moment.wall_ns);
  schema::PutSigned(out, moment.monotonic_ns);
}

// Each element takes a byte at least, so a damaged count ends with the input.
std::vector<std::string> GetStrings(schema::Reader* in) {
  std::vector<std::string> list;
  for (uint64_t count = in->Varint(); count > 0 && in->ok(); --count)
    list.emplace_back(in->String());
  return list;
}

schema::Tags GetTags(schema::Reader* in) {
  schema::Tags tags;
  for (uint64_t count = in->Varint(); count > 0 && in->ok(); --count) {
    std::string key(in->String());
    tags.emplace_back(std::move(key), in->String());
  }
  return tags;
}

schema::Moment GetMoment(schema::Reader* in) {
  schema::Moment moment;
  moment.wall_ns = in->Signed();
  moment.monotonic_ns = in->Signed();
  return moment;
}

schema::Ulid GetUlid(schema::Reader* in) {
  return schema::UlidFromBytes(in->Bytes(16)).value_or(schema::Ulid{});
}

void PutRun(std::string* out, const schema::Run& run) {
  out->append(run.id.AsBytes());
  out->append(run.parent.AsBytes());
  schema::PutVarint(out, static_cast<uint64_t>(run.origin));
  for (const std::string* text : {&run.service, &run.entry, &run.trace_id})
    schema::PutString(out, *text);
  PutTags(out, run.tags);
  PutMoment(out, run.started);
}

schema::Run GetRun(schema::Reader* in) {
  schema::Run run;
  run.id = GetUlid(in);
  run.parent = GetUlid(in);
  run.origin = static_cast<schema::RunOrigin>(in->Varint());
  for (std::string* text : {&run.service, &run.entry, &run.trace_id}) *text = in->String();
  run.tags = GetTags(in);
  run.started = GetMoment(in);
  return run;
}

void PutEnd(std::string* out, const schema::RunEnd& end) {
  PutMoment(out, end.at);
  schema::PutVarint(out, static_cast<uint64_t>(end.state));
  schema::PutString(out, end.detail);
}

schema::RunEnd GetEnd(schema::Reader* in) {
  schema::RunEnd end;
  end.at = GetMoment(in);
  end.state = static_cast<schema::EndState>(in->Varint());
  end.detail = in->String();
  return end;
}

void AddCounts(const RunPart& part, RunSummary* summary) {
  summary->model_calls += part.model_calls;
  summary->tool_calls += part.tool_calls;
  summary->retrievals += part.retrievals;
  summary->error_calls += part.error_calls;
  summary->lost_events += part.lost_events;
  for (const auto& [from, to] : {std::pair{&part.asked_models, &summary->asked_models},
                                 std::pair{&part.served_models, &summary->served_models},
                                 std::pair{&part.fingerprints, &summary->fingerprints},
                                 std::pair{&part.errors, &summary->errors}}) {
    for (const std::string& text : *from) AddDistinct(text, to);
  }
  for (const schema::Ulid& incident : part.incidents) AddIncident(incident, &summary->incidents);
  if (!part.run) return;
  for (const auto& tag : part.run->tags) {
    auto* tags = &summary->tags;
    if (std::find(tags->begin(), tags->end(), tag) == tags->end()) tags->push_back(tag);
  }
}

void AddUnfinished(const RunPart& last, bool in_progress, RunSummary* summary) {
  RunPart counts;
  for (const UnfinishedCall& call : last.unfinished) {
    if (int64_t* counter = CounterOf(call.boundary, &counts)) ++*counter;
    AddDistinct(call.asked_model, &counts.asked_models);
    if (in_progress) continue;
    ++counts.error_calls;
    AddDistinct(schema::DescribeEnd(schema::EndState::kIncomplete, ""), &counts.errors);
  }
  AddCounts(counts, summary);
}

bool MatchesModel(const std::string& model, std::string_view pattern) {
  if (!pattern.empty() && pattern.back() == '*')
    return model.compare(0, pattern.size() - 1, pattern.substr(0, pattern.size() - 1)) == 0;
  return model == pattern;
}

bool AnyModel(const std::vector<std::string>& models, std::string_view pattern) {
  return std::any_of(models.begin(), models.end(),
                     [&](const std::string& model) { return MatchesModel(model, pattern); });
}

bool HasTags(const schema::Tags& tags, const schema::Tags& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& want) {
    return std::any_of(tags.begin(), tags.end(), [&](const auto& tag) {
      return tag.first == want.first && (want.second.empty() || tag.second == want.second);
    });
  });
}

}  // namespace

void AddEvent(const schema::Event& event, const schema::ModelView& view, RunPart* part) {
  part->last_sequence = std::max({part->last_sequence, event.sequence, event.end_sequence});
  const bool is_model = event.boundary == schema::Boundary::kModel;
  int64_t* counter = CounterOf(event.boundary, part);
  if (counter == nullptr) return;
  if (event.end_state == schema::EndState::kIncomplete) {
    part->unfinished.push_back({event.boundary, is_model ? view.asked_model : std::string()});
    return;
  }
  ++*counter;
  if (is_model) {
    AddDistinct(view.asked_model, &part->asked_models);
    AddDistinct(view.served_model, &part->served_models);
    AddDistinct(view.system_fingerprint, &part->fingerprints);
  }
  const schema::EndState state = is_model ? view.end_state : event.end_state;
  if (state == schema::EndState::kComplete) return;
  ++part->error_calls;
  AddDistinct(ErrorText(state, is_model ? view.end_detail : event.end_detail,
                        is_model ? view.error_message : ""),
              &part->errors);
}

void AddDamagedEvent(const schema::Event& event, RunPart* part) {
  part->last_sequence = std::max({part->last_sequence, event.sequence, event.end_sequence});
  if (int64_t* counter = CounterOf(event.boundary, part)) ++*counter;
  ++part->error_calls;
  AddDistinct(kDamagedError, &part->errors);
}

void AddIncident(const schema::Ulid& incident, std::vector<schema::Ulid>* list) {
  if (std::find(list->begin(), list->end(), incident) == list->end()) list->push_back(incident);
}

std::string EncodeRunPart(const RunPart& part) {
  std::string out;
  schema::PutVarint(&out, (part.run ? 1U : 0U) | (part.end ? 2U : 0U));
  if (part.run) PutRun(&out, *part.run);
  if (part.end) PutEnd(&out, *part.end);
  for (const int64_t count : {part.model_calls, part.tool_calls, part.retrievals, part.error_calls})
    schema::PutSigned(&out, count);
  schema::PutVarint(&out, part.last_sequence);
  schema::PutVarint(&out, part.lost_events);
  for (const auto* list :
       {&part.asked_models, &part.served_models, &part.fingerprints, &part.errors})
    PutStrings(&out, *list);
  schema::PutVarint(&out, part.incidents.size());
  for (const schema::Ulid& incident : part.incidents) out.append(incident.AsBytes());
  schema::PutVarint(&out, part.unfinished.size());
  for (const UnfinishedCall& call : part.unfinished) {
    schema::PutVarint(&out, static_cast<uint64_t>(call.boundary));
    schema::PutString(&out, call.asked_model);
  }
  return out;
}

std::optional<RunPart> DecodeRunPart(std::string_view bytes) {
  schema::Reader in(bytes);
  RunPart part;
  const uint64_t present = in.Varint();
  if ((present & 1) != 0) part.run = GetRun(&in);
  if ((present & 2) != 0) part.end = GetEnd(&in);
  if (part.run && part.end) part.end->run = part.run->id;
  for (int64_t* count : {&part.model_calls, &part.tool_calls, &part.retrievals, &part.error_calls})
    *count = in.Signed();
  part.last_sequence = in.Varint();
  part.lost_events = in.Varint();
  for (auto* list : {&part.asked_models, &part.served_models, &part.fingerprints, &part.errors})
    *list = GetStrings(&in);
  for (uint64_t count = in.Varint(); count > 0 && in.ok(); --count)
    part.incidents.push_back(GetUlid(&in));
  for (uint64_t count = in.Varint(); count > 0 && in.ok(); --count) {
    UnfinishedCall call;
    call.boundary = static_cast<schema::Boundary>(in.Varint());
    call.asked_model = in.String();
    part.unfinished.push_back(std::move(call));
  }
  if (!in.ok() || !in.AtEnd()) return std::nullopt;
  return part;
}

bool FallsWithin(const schema::Gap& gap, const schema::Run& run, const schema::RunEnd* end,
                 uint64_t last_sequence) {
  if (gap.at.monotonic_ns < run.started.monotonic_ns) return false;
  if (end == nullptr || gap.at.monotonic_ns <= end->at.monotonic_ns) return true;
  // Counted after the run ended, but the loss may have begun before: a doubt is told.
  return gap.first_sequence != 0 && gap.first_sequence <= last_sequence;
}

std::optional<RunSummary> MergeParts(const std::vector<PlacedPart>& parts) {
  const auto with_run =
      std::find_if(parts.begin(), parts.end(), [](const auto& placed) { return placed.part.run; });
  if (with_run == parts.end()) return std::nullopt;
  const schema::Run& run = *with_run->part.run;
  RunSummary summary{.id = run.id,
                     .parent = run.parent,
                     .origin = run.origin,
                     .service = run.service,
                     .entry = run.entry,
                     .trace_id = run.trace_id,
                     .started_wall_ns = run.started.wall_ns};
  const schema::RunEnd* end = nullptr;
  uint64_t last_sequence = 0;
  for (const PlacedPart& placed : parts) {
    AddCounts(placed.part, &summary);
    if (placed.part.end) end = &*placed.part.end;
    last_sequence = std::max(last_sequence, placed.part.last_sequence);
  }
  summary.in_progress = end == nullptr && parts.back().owner_alive;
  AddUnfinished(parts.back().part, parts.back().owner_alive, &summary);
  if (end != nullptr) {
    summary.state = end->state;
    summary.state_detail = end->detail;
    summary.elapsed_ns = end->at.monotonic_ns - run.started.monotonic_ns;
  }
  for (const PlacedPart& placed : parts) {
    for (const schema::Gap& gap : *placed.gaps) {
      if (FallsWithin(gap, run, end, last_sequence)) summary.lost_events += gap.count;
    }
  }
  return summary;
}

bool Matches(const RunSummary& summary, const RunFilter& filter) {
  if (filter.since_wall_ns && summary.started_wall_ns < *filter.since_wall_ns) return false;
  if (filter.until_wall_ns && summary.started_wall_ns > *filter.until_wall_ns) return false;
  if (!filter.service.empty() && summary.service != filter.service) return false;
  if (summary.trace_id.compare(0, filter.trace_id.size(), filter.trace_id) != 0) return false;
  if (!filter.include_replays && summary.origin == schema::RunOrigin::kReplay) return false;
  if (!filter.model.empty() && !AnyModel(summary.asked_models, filter.model) &&
      !AnyModel(summary.served_models, filter.model))
    return false;
  if (!HasTags(summary.tags, filter.tags)) return false;
  const bool run_failed = !summary.in_progress && summary.state != schema::EndState::kComplete;
  if (filter.errors_only && summary.error_calls == 0 && !run_failed) return false;
  if (filter.error.empty()) return true;
  const auto has = [&](const std::string& error) {
    return std::search(error.begin(), error.end(), filter.error.begin(), filter.error.end(),
                       [](char a, char b) {
                         return absl::ascii_tolower(static_cast<unsigned char>(a)) ==
                                absl::ascii_tolower(static_cast<unsigned char>(b));
                       }) != error.end();
  };
  return std::any_of(summary.errors.begin(), summary.errors.end(), has) ||
         (run_failed && has(schema::DescribeEnd(summary.state, summary.state_detail)));
}

}  // namespace reenact::store::internal
