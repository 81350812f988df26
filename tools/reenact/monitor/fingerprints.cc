#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "replayer/identity/fingerprint_timeline.h"
#include "tools/reenact/io/time_option.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using identity::Change;
using identity::ChangeKind;
using identity::Coverage;
using identity::EndpointTimeline;
using identity::FingerprintValue;

struct FingerprintsOptions {
  std::string service;
  std::string since;
};

std::string Number(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Percent(const analysis::Measure& share) {
  return share.ok() ? Number("%.3g %%", 100 * share.value())
                    : std::string(analysis::StatusName(share.status()));
}

std::string_view CoverageText(Coverage coverage) {
  switch (coverage) {
    case Coverage::kAbsent:
      return "no answer has the field: blind, only logprobs can tell";
    case Coverage::kNull:
      return "null in every answer: blind, only logprobs can tell";
    case Coverage::kEmpty:
      return "an empty text in every answer: blind, only logprobs can tell";
    case Coverage::kPartly:
      return "some answers have one, others none";
    case Coverage::kConstant:
      return "one value throughout: it may be a constant of the server";
    case Coverage::kVaries:
      return "given";
  }
  return "";
}

std::string ChangeText(const Change& change) {
  switch (change.kind) {
    case ChangeKind::kNovel:
      return absl::StrCat("novel: ", change.value, ", ", Percent(change.share),
                          " of calls from that day on");
    case ChangeKind::kPresence:
      return absl::StrCat("fingerprints came or went: ", change.value);
    case ChangeKind::kVanished:
      return absl::StrCat("vanished: ", change.value, ", ", Percent(change.share),
                          " of calls before; by chance p ", Number("%.3g", change.p.value()));
    case ChangeKind::kReturned:
      return absl::StrCat("returned: ", change.value);
    case ChangeKind::kMixShift:
      return absl::StrCat("mix shifted: distance ", Number("%.3g", change.tv.value()), ", p ",
                          Number("%.3g", change.p.value()));
    case ChangeKind::kServedModel:
      return absl::StrCat("served model: ", change.before, " -> ", change.value);
    case ChangeKind::kTier:
      return absl::StrCat("service tier: ", change.value);
  }
  return "";
}

std::string Render(const EndpointTimeline& timeline, const std::optional<int64_t>& since,
                   const Style& style) {
  std::string out = absl::StrCat(
      style(Ink::kBold, Printable(timeline.asked_model)), " at ", Printable(timeline.endpoint),
      "\n  ", WithThousands(timeline.calls), timeline.calls == 1 ? " call of " : " calls of ",
      Printable(absl::StrJoin(timeline.services, ", ")),
      "; fingerprints: ", std::string(CoverageText(timeline.coverage)), "\n");
  for (const FingerprintValue& value : timeline.values) {
    const double share = static_cast<double>(value.calls) / static_cast<double>(timeline.calls);
    absl::StrAppend(&out, "    ", PadRight(Printable(value.value), 24), "  ",
                    PadLeft(Number("%.3g %%", 100 * share), 8), "  ",
                    FormatSeconds(value.first.at_wall_ns), " to ",
                    FormatSeconds(value.last.at_wall_ns), "\n");
  }
  for (const Change& change : timeline.changes) {
    if (since && change.at.at_wall_ns < *since) continue;
    const bool alone = change.at.run.IsZero();
    absl::StrAppend(
        &out, "  ", FormatSeconds(change.at.at_wall_ns), "  ",
        style(change.ends_epoch() ? Ink::kYellow : Ink::kPlain, Printable(ChangeText(change))),
        alone ? "" : absl::StrCat("; run ", schema::ToString(change.at.run)), "\n");
    for (const std::string& figure : change.voids)
      absl::StrAppend(&out, "    voids ", Printable(figure), "\n");
  }
  return out;
}

void WriteMeasure(std::string_view name, const analysis::Measure& measure, JsonWriter* json) {
  if (measure.ok())
    json->RealField(name, measure.value());
  else
    json->NullField(name);
}

void Write(const EndpointTimeline& timeline, const std::optional<int64_t>& since,
           JsonWriter* json) {
  json->BeginObject();
  json->TextField("asked_model", timeline.asked_model);
  json->TextField("provider", timeline.provider);
  json->TextField("endpoint", timeline.endpoint);
  json->TextsField("services", timeline.services);
  json->IntField("calls", timeline.calls);
  json->TextField("coverage", ToString(timeline.coverage));
  json->Key("values");
  json->BeginArray();
  for (const FingerprintValue& value : timeline.values) {
    json->BeginObject();
    json->TextField("value", value.value);
    json->IntField("calls", value.calls);
    json->TimeField("first", value.first.at_wall_ns);
    json->TimeField("last", value.last.at_wall_ns);
    json->EndObject();
  }
  json->EndArray();
  json->Key("changes");
  json->BeginArray();
  for (const Change& change : timeline.changes) {
    if (since && change.at.at_wall_ns < *since) continue;
    json->BeginObject();
    json->TextField("kind", ToString(change.kind));
    json->TimeField("at", change.at.at_wall_ns);
    json->GivenTextField("run", change.at.run.IsZero() ? "" : schema::ToString(change.at.run));
    json->GivenTextField("value", change.value);
    json->GivenTextField("before", change.before);
    WriteMeasure("share", change.share, json);
    WriteMeasure("p", change.p, json);
    WriteMeasure("tv", change.tv, json);
    json->BoolField("ends_epoch", change.ends_epoch());
    json->TextsField("voids", change.voids);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

int64_t ChangesSince(const std::vector<EndpointTimeline>& timelines, int64_t since) {
  int64_t count = 0;
  for (const EndpointTimeline& timeline : timelines) {
    for (const Change& change : timeline.changes) count += change.at.at_wall_ns >= since ? 1 : 0;
  }
  return count;
}

int Fingerprints(const FingerprintsOptions& options, const Context& context) {
  std::optional<int64_t> since;
  if (!options.since.empty()) {
    const auto time = ReadTime(context, options.since);
    if (!time.ok()) return Fail(context, time.status());
    since = *time;
  }
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  const auto seen = (*reader)->Seen({.calls = true});
  if (!seen.ok()) return FailReading(context, **reader, seen.status());
  NoteProblems(context, (*reader)->problems());
  const auto timelines = identity::TimelinesOf(*seen, options.service);
  if (context.json) {
    JsonWriter json = JsonWriter::Document("fingerprints");
    json.Key("endpoints");
    json.BeginArray();
    for (const EndpointTimeline& timeline : timelines) Write(timeline, since, &json);
    json.EndArray();
    json.EndObject();
    Print(json.Take());
  } else {
    std::string out;
    for (const EndpointTimeline& timeline : timelines)
      absl::StrAppend(&out, out.empty() ? "" : "\n", Render(timeline, since, context.style));
    Print(out);
  }
  if (timelines.empty()) {
    Note(context, "no model call that was answered is recorded");
    return kExitInconclusive;
  }
  return since && ChangesSince(timelines, *since) > 0 ? kExitFinding : kExitOk;
}

}  // namespace

void AddFingerprintsVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<FingerprintsOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "fingerprints",
       .summary = "What of each endpoint moved, and when: fingerprints, served models, tiers",
       .example =
           "  reenact fingerprints --service refund-agent\n"
           "  reenact fingerprints --since 1d --json\n\n"
           "A fingerprint names one of several replicas: a change is a value that was never\n"
           "seen before, or a mix that chance does not explain (alpha 0.05 over all days\n"
           "and endpoints, distance 0.1 at least). Each names the baselines that it voids.\n"
           "With --since: exit code 1 when something changed since."},
      [options, context] { return Fingerprints(*options, *context); });
  verb->add_option("--service", options->service, "endpoints of this service only")
      ->type_name("NAME");
  verb->add_option("--since", options->since, "changes from here on only: 2h, 3d (ago), or a time")
      ->type_name("TIME");
}

}  // namespace reenact::tools
