#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "store/reader/redact_store.h"
#include "tools/reenact/evidence/redaction_policy.h"
#include "tools/reenact/io/progress.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct RedactOptions {
  std::vector<std::string> policies;
  std::vector<std::string> texts;
  std::vector<std::string> keys;
  std::vector<std::string> bundles;
  bool dry_run = false;
};

absl::StatusOr<schema::RedactionPolicy> PolicyOf(const RedactOptions& options) {
  schema::RedactionPolicy policy;
  for (const std::string& path : options.policies) {
    const auto text = ReadFile(path);
    if (!text.ok()) return text.status();
    auto read = ParseRedactionPolicy(*text);
    if (!read.ok())
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", read.status().message()));
    for (std::string& secret : read->secrets) policy.secrets.push_back(std::move(secret));
    for (std::string& key : read->extra_json_keys) policy.extra_json_keys.push_back(std::move(key));
  }
  for (const std::string& text : options.texts) {
    if (absl::Status added = AddText(text, &policy); !added.ok()) return added;
  }
  for (const std::string& key : options.keys) {
    if (absl::Status added = AddKey(key, &policy); !added.ok()) return added;
  }
  return policy;
}

void PrintJson(const std::string& path, const RedactOptions& options,
               const store::RedactionReport& report) {
  JsonWriter json = JsonWriter::Document("redact");
  json.TextField("path", path);
  json.BoolField("dry_run", options.dry_run);
  json.IntField("files", report.files);
  json.IntField("rewritten", report.rewritten);
  json.Key("records");
  json.BeginArray();
  for (const store::RedactedRecord& record : report.records) {
    json.BeginObject();
    json.TextField("file", record.file);
    if (record.run.IsZero()) {
      json.NullField("run");
    } else {
      json.TextField("run", schema::ToString(record.run));
    }
    json.TextField("record", record.record);
    json.Key("parts");
    json.BeginArray();
    for (const std::string& part : record.parts) json.Text(part);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.Key("left");
  json.BeginArray();
  for (const std::string& sentence : report.left) json.Text(sentence);
  json.EndArray();
  json.EndObject();
  Print(json.Take());
}

void PrintText(const RedactOptions& options, const store::RedactionReport& report,
               const Style& style) {
  schema::Ulid run;
  std::string file;
  for (const store::RedactedRecord& record : report.records) {
    if (record.file != file || record.run != run) {
      const std::string of = record.run.IsZero() ? "no run" : "run " + schema::ToString(record.run);
      Print(style(Ink::kBold, Printable(of)) + Printable(" in " + record.file) + "\n");
    }
    file = record.file;
    run = record.run;
    Print(Printable(absl::StrCat("  ", record.record, ": ", absl::StrJoin(record.parts, ", "))) +
          "\n");
  }
  const auto count = static_cast<int64_t>(report.records.size());
  const std::string where =
      Counted(report.rewritten, "file") + " of " + std::to_string(report.files);
  if (count == 0) {
    Print(Counted(report.files, "file") + " searched: nothing to redact\n");
  } else if (options.dry_run) {
    Print(Counted(count, "record") + " in " + where + " would be redacted; nothing was changed\n");
  } else {
    Print(Counted(count, "record") + " in " + where + " redacted\n");
  }
}

int Redact(const RedactOptions& options, const Context& context) {
  const auto policy = PolicyOf(options);
  if (!policy.ok()) return Fail(context, policy.status());
  const auto place = FindStore(context);
  if (!place.ok()) return Fail(context, place.status());
  absl::StatusOr<store::RedactionReport> report;
  {
    Progress progress(context.progress, "redacting segments");
    report = store::RedactStore(place->path, {.policy = *policy,
                                              .dry_run = options.dry_run,
                                              .bundles = options.bundles,
                                              .progress = [&progress](int64_t done, int64_t total) {
                                                progress.Show(done, total);
                                              }});
  }
  if (!report.ok()) return Fail(context, WithPlace(report.status(), *place));
  for (const std::string& sentence : report->left) Note(context, "left as it is: " + sentence);
  if (context.json) {
    PrintJson(place->path, options, *report);
  } else {
    PrintText(options, *report, context.style);
  }
  // What was not looked into may hold what was to go.
  return report->left.empty() ? kExitOk : kExitInconclusive;
}

}  // namespace

void AddRedactVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<RedactOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "redact",
       .summary = "Takes texts and values out of what was recorded, wherever they stand",
       .example =
           "  reenact redact --policy privacy.yaml --dry-run\n"
           "  reenact redact --key email --text 'Jane Doe' --bundle refund.reenact\n"
           "\n"
           "A policy is a file of YAML or JSON with two lists: `texts`, which are found as they\n"
           "are, JSON-escaped, URL-encoded and in base64, and `keys`, names whose values go. What\n"
           "is redacted always is redacted too. A text on a command line is seen by others on\n"
           "the machine, and stays in the shell's history: put it into a file. What is being\n"
           "written by a recorder is left, and told."},
      [options, context] { return Redact(*options, *context); });
  const auto add_list = [verb](const char* name, std::vector<std::string>* list, const char* what,
                               const char* type) {
    verb->add_option(name, *list, std::string(what) + "; repeat it for more")
        ->type_name(type)
        ->allow_extra_args(false);
  };
  add_list("--policy", &options->policies, "a policy of texts and keys", "FILE");
  add_list("--text", &options->texts, "a text to erase", "TEXT");
  add_list("--key", &options->keys, "a name whose values are erased", "NAME");
  add_list("--bundle", &options->bundles, "a bundle to redact as well", "FILE");
  verb->add_flag("--dry-run", options->dry_run, "say what would change, and change nothing");
}

}  // namespace reenact::tools
