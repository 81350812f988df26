#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "store/reader/incidents.h"
#include "store/store_layout.h"
#include "tools/reenact/io/text_table.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/runs/run_json.h"
#include "tools/reenact/runs/run_text.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct IncidentOptions {
  std::string run;       // open
  std::string incident;  // note, close, show
  std::string title;
  std::string text;
  int32_t severity = 0;
  bool all = false;
};

absl::StatusOr<std::unique_ptr<store::Incidents>> OpenIncidents(const Context& context) {
  auto incidents = OpenIncidentsOfStore(context);
  if (!incidents.ok()) return incidents.status();
  // Marks that services made since the last look become incidents now. A store that may only be
  // read still shows what is there.
  const absl::Status synced = (*incidents)->Sync();
  NoteProblems(context, (*incidents)->problems());
  if (synced.ok()) return incidents;
  // What nobody can read is said once.
  if (const auto listed = (*incidents)->List(); absl::IsDataLoss(listed.status()))
    return absl::DataLossError(std::string(listed.status().message()) +
                               "; move the damaged file away, and keep it: marks that services "
                               "made become incidents anew, those made by hand are in it");
  Note(context, "new marks were not taken in: " + std::string(synced.message()));
  return incidents;
}

void WriteIncident(const store::Incident& incident, JsonWriter* json) {
  json->BeginObject();
  json->TextField("id", schema::ToString(incident.id));
  json->TextField("title", incident.title);
  json->IntField("severity", incident.severity);
  json->BoolField("open", incident.open);
  json->TimeField("opened", incident.opened_wall_ns);
  if (incident.closed_wall_ns != 0) {
    json->TimeField("closed", incident.closed_wall_ns);
  } else {
    json->NullField("closed");
    json->NullField("closed_unix_ns");
  }
  json->Key("notes");
  json->BeginArray();
  for (const store::IncidentNote& note : incident.notes) {
    json->BeginObject();
    json->TimeField("at", note.at_wall_ns);
    json->TextField("text", note.text);
    json->EndObject();
  }
  json->EndArray();
  json->Key("runs");
  json->BeginArray();
  for (const schema::Ulid& run : incident.runs) json->Text(schema::ToString(run));
  json->EndArray();
  json->EndObject();
}

int ReportIncident(const store::Incident& incident, const std::string& sentence,
                   const Context& context) {
  if (context.json) {
    JsonWriter json = JsonWriter::Document(context.verb);
    json.Key("incident");
    WriteIncident(incident, &json);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(sentence + "\n");
  }
  return kExitOk;
}

int OpenIncident(const IncidentOptions& options, const Context& context) {
  if (options.title.find_first_not_of(" \t\r\n") == std::string::npos) {
    return Refuse(context, "the title is empty: say in one line what went wrong");
  }
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  absl::StatusOr<schema::Ulid> run = (*reader)->ResolveRun(options.run);
  if (!run.ok()) return FailReading(context, **reader, run.status());
  auto incidents = OpenIncidents(context);
  if (!incidents.ok()) return Fail(context, incidents.status());
  schema::Mark mark;
  mark.id = store::NewUlid();
  mark.run = *run;
  mark.title = options.title;
  mark.severity = options.severity;
  mark.notes = options.text;
  mark.at = {store::WallNowNs(), store::MonotonicNowNs()};
  auto incident = (*incidents)->OpenIncident(mark);
  if (!incident.ok()) return Fail(context, incident.status());
  // What lies in a sealed segment is copied at once: the segment may be damaged tomorrow.
  const absl::Status copied = (*incidents)->Sync();
  if (!copied.ok()) Note(context, "not copied yet: " + std::string(copied.message()));
  return ReportIncident(*incident,
                        "incident " + schema::ToString(incident->id) + " opened: " +
                            Counted(static_cast<int64_t>(incident->runs.size()), "run") +
                            " kept until it is deleted by hand",
                        context);
}

int ListIncidents(const IncidentOptions& options, const Context& context) {
  auto incidents = OpenIncidents(context);
  if (!incidents.ok()) return Fail(context, incidents.status());
  auto list = (*incidents)->List();
  if (!list.ok()) return Fail(context, list.status());
  std::erase_if(*list,
                [&](const store::Incident& incident) { return !options.all && !incident.open; });
  if (context.json) {
    JsonWriter json = JsonWriter::Document(context.verb);
    json.Key("incidents");
    json.BeginArray();
    for (const store::Incident& incident : *list) WriteIncident(incident, &json);
    json.EndArray();
    json.EndObject();
    Print(json.Take());
    return kExitOk;
  }
  if (list->empty()) {
    Note(context, options.all ? "no incidents" : "no open incidents; --all shows closed ones");
    return kExitOk;
  }
  Table table({{.title = "INCIDENT"},
               {.title = "OPENED"},
               {.title = "SEV", .right = true},
               {.title = "STATE"},
               {.title = "RUNS", .right = true},
               {.title = "TITLE", .shrinks = true}},
              kTextWidth);
  for (const store::Incident& incident : *list) {
    table.AddRow({schema::ToString(incident.id), FormatSeconds(incident.opened_wall_ns),
                  incident.severity == 0 ? "-" : std::to_string(incident.severity),
                  incident.open ? "open" : "closed", std::to_string(incident.runs.size()),
                  incident.title});
  }
  Print(table.Render(context.style));
  return kExitOk;
}

int ChangeIncident(const IncidentOptions& options, const Context& context, bool close) {
  auto incidents = OpenIncidents(context);
  if (!incidents.ok()) return Fail(context, incidents.status());
  auto incident = (*incidents)->Find(options.incident);
  if (!incident.ok()) return Fail(context, incident.status());
  const schema::Ulid id = incident->id;
  if (close && !incident->open) {
    return Refuse(context, "incident " + schema::ToString(id) + " is closed already");
  }
  const absl::Status changed =
      close ? (*incidents)->Close(id, options.text) : (*incidents)->AddNote(id, options.text);
  if (!changed.ok()) return Fail(context, changed);
  incident = (*incidents)->Find(schema::ToString(id));
  if (!incident.ok()) return Fail(context, incident.status());
  return ReportIncident(*incident,
                        "incident " + schema::ToString(id) + (close ? " closed" : ": note added"),
                        context);
}

int ShowIncident(const IncidentOptions& options, const Context& context) {
  auto incidents = OpenIncidents(context);
  if (!incidents.ok()) return Fail(context, incidents.status());
  auto incident = (*incidents)->Find(options.incident);
  if (!incident.ok()) return Fail(context, incident.status());
  if (context.json) return ReportIncident(*incident, "", context);
  std::string out = context.style(Ink::kBold, "Incident " + schema::ToString(incident->id)) + "\n";
  out += "  title     " + Printable(incident->title) + "\n";
  out += "  severity  " +
         (incident->severity == 0 ? "not stated" : std::to_string(incident->severity)) + "\n";
  out += "  opened    " + FormatMillis(incident->opened_wall_ns) + "\n";
  out += "  closed    " + (incident->open ? "no" : FormatMillis(incident->closed_wall_ns)) + "\n";
  for (const store::IncidentNote& note : incident->notes) {
    out += "  note      " + FormatSeconds(note.at_wall_ns) + "  " + Printable(note.text) + "\n";
  }
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  std::vector<store::RunSummary> runs;
  for (const schema::Ulid& run : incident->runs) {
    auto summary = (*reader)->Summarize(run);
    if (summary.ok()) {
      runs.push_back(*std::move(summary));
    } else {
      Note(context, std::string(summary.status().message()) + ": it cannot be shown");
    }
  }
  Print(out + "\n" + RenderRunList(runs, context.style));
  return kExitOk;
}

}  // namespace

void AddIncidentVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<IncidentOptions>();
  CLI::App* group = app->add_subcommand(
      "incident", "Mark runs as wrong and follow them: open, list, note, close, show");
  group->require_subcommand(1);
  group->footer("Example:\n  reenact incident open last --title 'refund of 1,200 instead of 120'");

  CLI::App* open =
      AddVerb(group, context,
              {.name = "open",
               .summary = "Marks a run, and every run of its trace, and keeps them",
               .example = "  reenact incident open last --title 'refund of 1,200 instead of 120' "
                          "--severity 2"},
              [options, context] { return OpenIncident(*options, *context); });
  open->add_option("RUN", options->run, "an id, a unique prefix of one, or last")->required();
  open->add_option("--title", options->title, "what went wrong, in one line")
      ->required()
      ->type_name("TEXT");
  open->add_option("--severity", options->severity, "1 worst to 4")->check(InRange(1, 4));
  open->add_option("--note", options->text, "more about it")->type_name("TEXT");

  CLI::App* list = AddVerb(group, context,
                           {.name = "list",
                            .summary = "Open incidents, newest last",
                            .example = "  reenact incident list --all"},
                           [options, context] { return ListIncidents(*options, *context); });
  list->add_flag("--all", options->all, "closed ones too");

  const auto add_id = [&options](CLI::App* verb) {
    verb->add_option("INCIDENT", options->incident, "an id, a unique prefix of one, or last")
        ->required();
  };
  CLI::App* note =
      AddVerb(group, context,
              {.name = "note",
               .summary = "Adds a note to an incident",
               .example = "  reenact incident note last 'customer was told'"},
              [options, context] { return ChangeIncident(*options, *context, false); });
  add_id(note);
  note->add_option("TEXT", options->text, "the note")->required();

  CLI::App* close =
      AddVerb(group, context,
              {.name = "close",
               .summary = "Closes an incident; its runs stay",
               .example = "  reenact incident close last --note 'fixed in v15'"},
              [options, context] { return ChangeIncident(*options, *context, true); });
  add_id(close);
  close->add_option("--note", options->text, "how it ended")->type_name("TEXT");

  CLI::App* show = AddVerb(group, context,
                           {.name = "show",
                            .summary = "One incident with its notes and runs",
                            .example = "  reenact incident show last"},
                           [options, context] { return ShowIncident(*options, *context); });
  add_id(show);
}

}  // namespace reenact::tools
