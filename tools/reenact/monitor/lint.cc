#include "replayer/identity/lint.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"

#include "tools/reenact/open_store.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using identity::Finding;
using identity::Severity;

struct LintOptions {
  std::string run;
  std::string service;
  std::string fail_on = "warning";
};

Ink InkOf(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return Ink::kRed;
    case Severity::kWarning:
      return Ink::kYellow;
    case Severity::kNote:
      break;
  }
  return Ink::kPlain;
}

std::string Render(const std::vector<Finding>& findings, const Style& style) {
  std::string out;
  for (const Finding& finding : findings) {
    absl::StrAppend(
        &out,
        style(InkOf(finding.severity),
              absl::StrCat(std::string(ToString(finding.severity)), "  ", finding.rule)),
        "  ", Printable(finding.service), "\n    ", Printable(finding.text), "\n    ",
        finding.count > 1 ? absl::StrCat(WithThousands(finding.count), " times, ") : "",
        "last in run ", schema::ToString(finding.last.run), "\n    fix: ", Printable(finding.fix),
        "\n");
  }
  int64_t counts[3] = {};
  for (const Finding& finding : findings) ++counts[static_cast<int>(finding.severity)];
  absl::StrAppend(&out, findings.empty() ? "" : "\n", Counted(counts[2], "error"), ", ",
                  Counted(counts[1], "warning"), ", ", Counted(counts[0], "note"), "\n");
  return out;
}

void PrintJson(const std::vector<Finding>& findings) {
  JsonWriter json = JsonWriter::Document("lint");
  json.Key("findings");
  json.BeginArray();
  for (const Finding& finding : findings) {
    json.BeginObject();
    json.TextField("rule", finding.rule);
    json.TextField("severity", ToString(finding.severity));
    json.TextField("service", finding.service);
    json.TextField("text", finding.text);
    json.TextField("fix", finding.fix);
    json.IntField("count", finding.count);
    json.TextField("run", schema::ToString(finding.last.run));
    json.TimeField("last", finding.last.at_wall_ns);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  Print(json.Take());
}

absl::StatusOr<store::Sightings> SightingsFor(const LintOptions& options,
                                              store::StoreReader* reader) {
  if (options.run.empty()) return reader->Seen({.calls = true, .components = true, .traits = true});
  auto run = LoadRun(reader, options.run);
  if (!run.ok()) return run.status();
  return store::SightingsOf(*run);
}

bool HasSeen(const store::Sightings& seen, const std::string& service) {
  const auto is_of_service = [&](const auto& entry) {
    return service.empty() || entry.what.service == service;
  };
  return std::any_of(seen.calls.begin(), seen.calls.end(), is_of_service) ||
         std::any_of(seen.components.begin(), seen.components.end(), is_of_service) ||
         std::any_of(seen.traits.begin(), seen.traits.end(), is_of_service);
}

int RunLint(const LintOptions& options, const Context& context) {
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  const auto seen = SightingsFor(options, reader->get());
  if (!seen.ok()) return FailReading(context, **reader, seen.status());
  NoteProblems(context, (*reader)->problems());
  const bool nothing = !HasSeen(*seen, options.service);
  const std::vector<Finding> findings = identity::Lint(*seen, options.service);
  if (context.json)
    PrintJson(findings);
  else
    Print(Render(findings, context.style));
  if (nothing) {
    Note(context, "there is no recorded run to judge");
    return kExitInconclusive;
  }
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) {
                       const auto severity = ToString(finding.severity);
                       if (options.fail_on == "never") return false;
                       if (options.fail_on == "note") return true;
                       return severity == "error" ||
                              (severity == "warning" && options.fail_on == "warning");
                     })
             ? kExitFinding
             : kExitOk;
}

}  // namespace

void AddLintVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<LintOptions>();
  CLI::App* verb =
      AddVerb(app, context,
              {.name = "lint",
               .summary = "What will make the next post-mortem hopeless, each with its fix",
               .example = "  reenact lint --service refund-agent\n"
                          "  reenact lint last --fail-on error\n\n"
                          "Exit code 1 for a finding of at least the severity of --fail-on."},
              [options, context] { return RunLint(*options, *context); });
  verb->add_option("RUN", options->run, "this run only: an id, a unique prefix of one, or last");
  verb->add_option("--service", options->service, "of this service only")->type_name("NAME");
  verb->add_option("--fail-on", options->fail_on, "the least severity for exit code 1")
      ->check(CLI::IsMember({"note", "warning", "error", "never"}))
      ->capture_default_str();
}

}  // namespace reenact::tools
