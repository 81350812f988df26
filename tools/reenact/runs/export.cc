#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"

#include "store/reader/bundle.h"
#include "store/reader/incidents.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct ExportOptions {
  std::string what;
  std::string out;
  std::string format = "bundle";
  bool replace = false;
};

// Every run of an incident, with what was said about it in the bundle's meta.
absl::StatusOr<store::Bundle> BundleOfIncident(store::StoreReader* reader,
                                               const store::Incident& incident) {
  store::Bundle bundle;
  for (const schema::Ulid& run : incident.runs) {
    auto recorded = reader->LoadRun(run, {.bodies = true});
    if (!recorded.ok()) return recorded.status();
    bundle.runs.push_back(*std::move(recorded));
  }
  bundle.meta = {{"incident.id", schema::ToString(incident.id)},
                 {"incident.title", incident.title},
                 {"incident.severity", std::to_string(incident.severity)}};
  for (size_t i = 0; i < incident.notes.size(); ++i) {
    bundle.meta.emplace_back("incident.note." + std::to_string(i), incident.notes[i].text);
  }
  return bundle;
}

absl::StatusOr<store::Bundle> Collect(const ExportOptions& options, const Context& context,
                                      store::StoreReader* reader) {
  absl::StatusOr<schema::Ulid> run = reader->ResolveRun(options.what);
  if (run.ok()) {
    auto recorded = reader->LoadRun(*run, {.bodies = true});
    if (!recorded.ok()) return recorded.status();
    store::Bundle bundle;
    bundle.runs.push_back(*std::move(recorded));
    return bundle;
  }
  if (!absl::IsNotFound(run.status()) || reader->is_bundle()) return run.status();
  auto incidents = OpenIncidentsOfStore(context);
  if (!incidents.ok()) return incidents.status();
  absl::StatusOr<store::Incident> incident = (*incidents)->Find(options.what);
  if (!incident.ok()) {
    return absl::NotFoundError(
        absl::StrCat("neither a run nor an incident: \"", options.what, "\""));
  }
  return BundleOfIncident(reader, *incident);
}

absl::Status Write(const store::Bundle& bundle, const ExportOptions& options) {
  if (options.format == "bundle") return store::WriteBundle(bundle, options.out, options.replace);
  const std::string lines = store::ToJsonl(bundle);
  if (options.out != "-") return WriteFile(options.out, lines, options.replace);
  Print(lines);
  return absl::OkStatus();
}

int Export(const ExportOptions& options, const Context& context) {
  if (options.out == "-" && (options.format == "bundle" || context.json)) {
    return Refuse(context, "standard output takes --format jsonl without --json; else name a file");
  }
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  auto bundle = Collect(options, context, reader->get());
  if (!bundle.ok()) return FailReading(context, **reader, bundle.status());
  NoteProblems(context, (*reader)->problems());
  const auto events = [&bundle] {
    int64_t count = 0;
    for (const schema::RecordedRun& run : bundle->runs) {
      count += static_cast<int64_t>(run.events.size());
    }
    return count;
  }();
  const absl::Status written = Write(*bundle, options);
  if (!written.ok()) return Fail(context, OrReplace(written));
  if (context.json) {
    JsonWriter json = JsonWriter::Document("export");
    json.TextField("out", options.out);
    json.TextField("format", options.format);
    json.IntField("runs", static_cast<int64_t>(bundle->runs.size()));
    json.IntField("events", events);
    json.EndObject();
    Print(json.Take());
  } else if (options.out != "-") {
    Print("wrote " + Printable(options.out) + ": " +
          Counted(static_cast<int64_t>(bundle->runs.size()), "run") + ", " +
          Counted(events, "event") + "\n");
  }
  return kExitOk;
}

}  // namespace

void AddExportVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* verb =
      AddVerb(app, context,
              {.name = "export",
               .summary = "A run, or an incident with all its runs, as one file to hand over",
               .example = "  reenact export 01JNXW --out refund.reenact\n"
                          "  reenact export 01JP0A --format jsonl --out incident.jsonl"},
              [options, context] { return Export(*options, *context); });
  verb->add_option("RUN|INCIDENT", options->what, "an id, a unique prefix of one, or last")
      ->required();
  verb->add_option("--out", options->out, "the file to write; - is standard output, for JSONL")
      ->required()
      ->type_name("FILE");
  verb->add_option("--format", options->format, "the same runs always give the same bytes")
      ->check(CLI::IsMember({"bundle", "jsonl"}))
      ->capture_default_str();
  verb->add_flag("--replace", options->replace, "write over a file that is there");
}

}  // namespace reenact::tools
