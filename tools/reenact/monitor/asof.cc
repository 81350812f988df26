#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "replayer/identity/system_state.h"
#include "tools/reenact/io/time_option.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using identity::ComponentState;
using identity::CurrentValue;
using identity::ModelState;
using identity::OtherValue;
using identity::ServiceState;
using identity::Share;
using identity::StateDifference;
using identity::SystemState;

struct AsofOptions {
  std::string time;
  std::vector<std::string> diff;  // Two times, or none.
  std::string service;
  bool content = false;
};

std::string Joined(const std::vector<CurrentValue>& values) {
  std::string out;
  for (const CurrentValue& value : values)
    absl::StrAppend(&out, out.empty() ? "" : " and ", value.value);
  if (values.size() > 1) absl::StrAppend(&out, " (in use at once)");
  return out;
}

// "fp_a 70 %, fp_b 30 %"; one value alone needs no share.
std::string Joined(const std::vector<Share>& shares) {
  int64_t total = 0;
  for (const Share& share : shares) total += share.count;
  std::string out;
  for (const Share& share : shares) {
    absl::StrAppend(&out, out.empty() ? "" : ", ", share.value);
    if (shares.size() == 1) break;
    char percent[32];
    std::snprintf(percent, sizeof percent, " %.3g %%",
                  100.0 * static_cast<double>(share.count) / static_cast<double>(total));
    out += percent;
  }
  return out;
}

std::string KnownFrom(const CurrentValue& value, int64_t at_wall_ns) {
  return absl::StrCat(value.from_snapshot ? "snapshot " : "run ",
                      schema::ToString(value.known_from.run), ", ",
                      FormatDuration(at_wall_ns - value.known_from.at_wall_ns), " before");
}

std::string Evidence(const std::vector<CurrentValue>& values,
                     const std::optional<OtherValue>& before,
                     const std::optional<OtherValue>& after, int64_t at_wall_ns) {
  std::string out;
  for (const CurrentValue& value : values) {
    absl::StrAppend(&out, "      ", values.size() > 1 ? Printable(value.value) + ": " : "",
                    "since ", FormatSeconds(value.since.at_wall_ns), "; known from ",
                    KnownFrom(value, at_wall_ns), "\n");
  }
  if (before) {
    absl::StrAppend(&out, "      before: ", Printable(before->value), ", last seen ",
                    FormatSeconds(before->seen.at_wall_ns), "\n");
  }
  if (after) {
    absl::StrAppend(&out, "      after: ", Printable(after->value), ", first seen ",
                    FormatSeconds(after->seen.at_wall_ns), "\n");
  }
  return out;
}

std::string RenderModel(const ModelState& model, int64_t at_wall_ns, const Style& style) {
  const std::string served = Joined(model.served);
  std::string name = model.asked_model;
  if (served != name) absl::StrAppend(&name, " -> ", served);
  std::string out =
      absl::StrCat("    ", style(Ink::kBold, Printable(name)), "  (",
                   std::string(schema::ToString(model.name.pinning)), ": ", model.name.evidence,
                   ")\n      at ", Printable(model.endpoint), "\n");
  out += Evidence(model.served, model.before, model.after, at_wall_ns);
  absl::StrAppend(&out, "      fingerprints: ", Printable(Joined(model.fingerprints)), ", of ",
                  Counted(model.calls, "call"), " of the day up to then\n");
  if (!model.service_tiers.empty())
    absl::StrAppend(&out, "      service tier: ", Printable(Joined(model.service_tiers)), "\n");
  if (!model.regions.empty())
    absl::StrAppend(&out, "      region: ", Printable(Joined(model.regions)), "\n");
  if (!model.engine_profile.empty())
    absl::StrAppend(&out, "      numerics profile: ", model.engine_profile, "\n");
  return out;
}

// The content of a component, read from the run that it is known from.
absl::StatusOr<std::string> ContentOf(store::StoreReader* reader, const ComponentState& component,
                                      const CurrentValue& value) {
  auto run = reader->LoadRun(value.known_from.run, {});
  if (!run.ok()) return run.status();
  for (const schema::Component& there : run->components) {
    const bool is_it = there.kind == component.kind && there.name == component.name &&
                       value.value.compare(0, there.version.size(), there.version) == 0;
    if (is_it) return there.content.bytes;
  }
  return absl::NotFoundError("its run holds no content of it");
}

std::string RenderContent(store::StoreReader* reader, const ComponentState& component) {
  std::string out;
  for (const CurrentValue& value : component.versions) {
    const auto content = ContentOf(reader, component, value);
    std::string text = content.ok() ? *content : absl::StrCat("(", content.status().message(), ")");
    if (content.ok() && text.empty()) text = "(no content was recorded)";
    std::string lines = PrintableLines(text);
    for (size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 9)
      lines.insert(at + 1, "        ");
    absl::StrAppend(&out, "        ", lines, "\n");
  }
  return out;
}

std::string Render(const SystemState& state, bool content, store::StoreReader* reader,
                   const Style& style) {
  std::string out = absl::StrCat("as of ", FormatExact(state.at_wall_ns), "\n");
  for (const ServiceState& service : state.services) {
    absl::StrAppend(&out, "\n", style(Ink::kBold, Printable(service.service)), "\n");
    if (!service.components.empty()) out += "  components\n";
    for (const ComponentState& component : service.components) {
      absl::StrAppend(
          &out, "    ",
          style(Ink::kBold, Printable(absl::StrCat(component.kind, " ", component.name, "  ",
                                                   Joined(component.versions)))),
          "\n", Evidence(component.versions, component.before, component.after, state.at_wall_ns));
      if (content) out += RenderContent(reader, component);
    }
    if (!service.models.empty()) out += "  models\n";
    for (const ModelState& model : service.models)
      out += RenderModel(model, state.at_wall_ns, style);
  }
  return out;
}

void WriteValues(const std::vector<CurrentValue>& values, JsonWriter* json) {
  json->BeginArray();
  for (const CurrentValue& value : values) {
    json->BeginObject();
    json->TextField("value", value.value);
    json->TimeField("since", value.since.at_wall_ns);
    json->TextField("since_run", schema::ToString(value.since.run));
    json->TextField("known_from", value.from_snapshot ? "snapshot" : "run");
    json->TextField("run", schema::ToString(value.known_from.run));
    json->TimeField("seen", value.known_from.at_wall_ns);
    json->EndObject();
  }
  json->EndArray();
}

void WriteOther(std::string_view name, const std::optional<OtherValue>& other, JsonWriter* json) {
  json->Key(name);
  if (!other) return json->Null();
  json->BeginObject();
  json->TextField("value", other->value);
  json->TimeField("seen", other->seen.at_wall_ns);
  json->TextField("run", schema::ToString(other->seen.run));
  json->EndObject();
}

void WriteShares(std::string_view name, const std::vector<Share>& shares, JsonWriter* json) {
  json->Key(name);
  json->BeginArray();
  for (const Share& share : shares) {
    json->BeginObject();
    json->TextField("value", share.value);
    json->IntField("calls", share.count);
    json->EndObject();
  }
  json->EndArray();
}

void WriteComponent(const ComponentState& component, bool content, store::StoreReader* reader,
                    JsonWriter* json) {
  json->BeginObject();
  json->TextField("kind", component.kind);
  json->TextField("name", component.name);
  json->Key("versions");
  WriteValues(component.versions, json);
  WriteOther("before", component.before, json);
  WriteOther("after", component.after, json);
  if (content) {
    json->Key("contents");
    json->BeginArray();
    for (const CurrentValue& value : component.versions) {
      const auto text = ContentOf(reader, component, value);
      if (text.ok())
        json->Text(*text);
      else
        json->Null();
    }
    json->EndArray();
  }
  json->EndObject();
}

void WriteModel(const ModelState& model, JsonWriter* json) {
  json->BeginObject();
  json->TextField("asked_model", model.asked_model);
  json->TextField("provider", model.provider);
  json->TextField("endpoint", model.endpoint);
  json->TextField("pinning", schema::ToString(model.name.pinning));
  json->TextField("pinning_evidence", model.name.evidence);
  json->Key("served");
  WriteValues(model.served, json);
  WriteOther("before", model.before, json);
  WriteOther("after", model.after, json);
  json->IntField("calls_in_day", model.calls);
  WriteShares("fingerprints", model.fingerprints, json);
  WriteShares("service_tiers", model.service_tiers, json);
  WriteShares("regions", model.regions, json);
  json->GivenTextField("numerics_profile", model.engine_profile);
  json->EndObject();
}

void PrintJson(const SystemState& state, bool content, store::StoreReader* reader) {
  JsonWriter json = JsonWriter::Document("asof");
  json.TimeField("as_of", state.at_wall_ns);
  json.Key("services");
  json.BeginArray();
  for (const ServiceState& service : state.services) {
    json.BeginObject();
    json.TextField("service", service.service);
    json.Key("components");
    json.BeginArray();
    for (const ComponentState& component : service.components)
      WriteComponent(component, content, reader, &json);
    json.EndArray();
    json.Key("models");
    json.BeginArray();
    for (const ModelState& model : service.models) WriteModel(model, &json);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  Print(json.Take());
}

void PrintDifferences(const std::vector<StateDifference>& differences, const SystemState& from,
                      const SystemState& to, const Context& context) {
  if (context.json) {
    JsonWriter json = JsonWriter::Document("asof");
    json.TimeField("from", from.at_wall_ns);
    json.TimeField("to", to.at_wall_ns);
    json.Key("differences");
    json.BeginArray();
    for (const StateDifference& difference : differences) {
      json.BeginObject();
      json.TextField("service", difference.service);
      json.TextField("thing", difference.thing);
      json.TextField("aspect", difference.aspect);
      json.GivenTextField("from", difference.from);
      json.GivenTextField("to", difference.to);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
    return Print(json.Take());
  }
  std::string out =
      absl::StrCat("from ", FormatExact(from.at_wall_ns), " to ", FormatExact(to.at_wall_ns), ": ",
                   Counted(static_cast<int64_t>(differences.size()), "difference"), "\n");
  std::string service;
  for (const StateDifference& difference : differences) {
    if (difference.service != service) {
      service = difference.service;
      absl::StrAppend(&out, "\n", context.style(Ink::kBold, Printable(service)), "\n");
    }
    const auto shown = [](const std::string& value) {
      return value.empty() ? std::string("(not there)") : Printable(value);
    };
    absl::StrAppend(&out, "  ", Printable(difference.thing), ", ", difference.aspect, "\n",
                    context.style(Ink::kRed, "    from  " + shown(difference.from)), "\n",
                    context.style(Ink::kGreen, "    to    " + shown(difference.to)), "\n");
  }
  Print(out);
}

int AsofDiff(const AsofOptions& options, const Context& context) {
  std::vector<int64_t> times;
  for (const std::string& text : options.diff) {
    const auto time = ReadTime(context, text);
    if (!time.ok()) return Fail(context, time.status());
    times.push_back(*time);
  }
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  const auto seen = (*reader)->Seen({.calls = true, .components = true});
  if (!seen.ok()) return FailReading(context, **reader, seen.status());
  NoteProblems(context, (*reader)->problems());
  const SystemState from = identity::StateAt(*seen, times[0], options.service);
  const SystemState to = identity::StateAt(*seen, times[1], options.service);
  if (from.services.empty() && to.services.empty()) {
    Note(context, "nothing was seen before either time");
    return kExitInconclusive;
  }
  const std::vector<StateDifference> differences = Compare(from, to);
  PrintDifferences(differences, from, to, context);
  return differences.empty() ? kExitOk : kExitFinding;
}

int Asof(const AsofOptions& options, const Context& context) {
  if (options.diff.empty() == options.time.empty())
    return Refuse(context, "give a TIME, or --diff with two");
  if (!options.diff.empty()) return AsofDiff(options, context);
  const auto time = ReadTime(context, options.time);
  if (!time.ok()) return Fail(context, time.status());
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  const auto seen = (*reader)->Seen({.calls = true, .components = true});
  if (!seen.ok()) return FailReading(context, **reader, seen.status());
  NoteProblems(context, (*reader)->problems());
  const SystemState state = identity::StateAt(*seen, *time, options.service);
  if (state.services.empty()) {
    return FailWith(
        context,
        absl::NotFoundError(absl::StrCat(
            "nothing ", options.service.empty() ? "" : absl::StrCat("of ", options.service, " "),
            "was seen up to ", FormatSeconds(*time))),
        kExitInconclusive);
  }
  if (context.json)
    PrintJson(state, options.content, reader->get());
  else
    Print(Render(state, options.content, reader->get(), context.style));
  return kExitOk;
}

}  // namespace

void AddAsofVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<AsofOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "asof",
       .summary = "What exactly was the system at a time: components, models, fingerprints",
       .example = "  reenact asof '2026-03-01 14:32' --service refund-agent\n"
                  "  reenact asof --diff 2026-02-28T14:32:00Z 2026-03-01T14:32:00Z\n\n"
                  "Known from runs that used it and from `reenact snapshot`; a value holds until\n"
                  "another is seen. Fingerprints are those of the day up to the last call.\n"
                  "With --diff: exit code 1 when something differs."},
      [options, context] { return Asof(*options, *context); });
  verb->add_option("TIME", options->time, "2h, 3d (ago), or a time");
  verb->add_option("--diff", options->diff, "what differs between two times")
      ->type_name("T1 T2")
      ->expected(2);
  verb->add_option("--service", options->service, "of this service only")->type_name("NAME");
  verb->add_flag("--content", options->content, "the text of each component as well");
}

}  // namespace reenact::tools
