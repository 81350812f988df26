#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "reenact/reenact.hpp"
#include "store/reader/sighting.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/monitor/manifest.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/record/child_program.h"
#include "tools/reenact/record/proxy_flags.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct SnapshotOptions {
  std::string manifest;
  std::string service;
  std::string note;
  std::vector<std::string> tags;
};

// The commit of the folder's checkout, "-dirty" behind it where files were changed; nothing outside
// of one.
std::optional<std::string> CodeVersion(const std::string& folder) {
  std::optional<std::string> commit = OutputOf({"git", "-C", folder, "rev-parse", "HEAD"});
  if (!commit) return std::nullopt;
  while (commit->ends_with('\n')) commit->pop_back();
  const std::optional<std::string> changes =
      OutputOf({"git", "--no-optional-locks", "-C", folder, "status", "--porcelain",
                "--untracked-files=no"});
  if (changes && !changes->empty()) *commit += "-dirty";
  return commit;
}

absl::StatusOr<RunInfo> DescribeSnapshot(const Manifest& manifest, const std::string& folder,
                                         const SnapshotOptions& options) {
  RunInfo info;
  info.entry = store::kSnapshotEntry;
  info.tags = Tags(manifest.tags.begin(), manifest.tags.end());
  for (const std::string& tag : options.tags) {
    const size_t equals = tag.find('=');
    info.tags.emplace_back(tag.substr(0, equals), tag.substr(equals + 1));
  }
  const std::string& note = options.note.empty() ? manifest.note : options.note;
  if (!note.empty()) info.tags.emplace_back("note", note);
  for (const ManifestComponent& part : manifest.components) {
    Component component{part.kind, part.name, part.version, part.content};
    if (!part.file.empty()) {
      auto content = ReadFile((std::filesystem::path(folder) / part.file).string());
      if (!content.ok()) return content.status();
      component.content = *std::move(content);
    }
    info.components.push_back(std::move(component));
  }
  return info;
}

int Report(const std::string& run, const std::string& service, const RunInfo& info,
           const std::optional<std::string>& code, const Context& context) {
  if (context.json) {
    JsonWriter json = JsonWriter::Document("snapshot");
    json.TextField("run", run);
    json.TextField("service", service);
    json.IntField("components", static_cast<int64_t>(info.components.size()));
    json.GivenTextField("code", code.value_or(""));
    json.EndObject();
    Print(json.Take());
    return kExitOk;
  }
  Print(absl::StrCat("recorded ",
                     Counted(static_cast<int64_t>(info.components.size()), "component"), " of ",
                     Printable(service), " as ", run, "\n"));
  if (!code) Note(context, "no git checkout: the code's version is not recorded");
  return kExitOk;
}

int Snapshot(const SnapshotOptions& options, const Context& context) {
  const auto text = ReadFile(options.manifest);
  if (!text.ok()) return Fail(context, text.status());
  const auto manifest = ParseManifest(*text);
  if (!manifest.ok()) return Fail(context, manifest.status());
  const std::string service = options.service.empty() ? manifest->service : options.service;
  if (service.empty()) return Refuse(context, "of which service? add --service NAME");
  std::string folder = std::filesystem::path(options.manifest).parent_path().string();
  if (folder.empty()) folder = ".";
  auto info = DescribeSnapshot(*manifest, folder, options);
  if (!info.ok()) return Fail(context, info.status());
  const std::optional<std::string> code = CodeVersion(folder);
  if (code) info->components.push_back(Application(service, *code));
  if (info->components.empty()) return Refuse(context, "the manifest names no component");

  auto place = FindStore(context);
  if (!place.ok()) return Fail(context, place.status());
  Recorder recorder(RecorderOptionsFor(place->path, service, {}, context));
  if (absl::Status ready = CheckRecords(recorder); !ready.ok()) return Fail(context, ready);
  Run run = recorder.StartRun(*info);
  const std::string id = run.run_id();
  run.Finish("");
  if (recorder.Flush(kStoreDeadlineMs) != REENACT_OK)
    return Fail(context, absl::UnavailableError("the snapshot could not be stored"));
  return Report(id, service, *info, code, context);
}

}  // namespace

void AddSnapshotVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<SnapshotOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "snapshot",
       .summary = "Records what is deployed: components from a manifest, and the code's commit",
       .example = "  reenact snapshot deploy/components.yaml --note 'deploy of v15'\n\n"
                  "The manifest, JSON or YAML:\n"
                  "  service: refund-agent\n"
                  "  components:\n"
                  "    - {kind: prompt_template, name: refund, version: v15, file: refund.txt}\n"
                  "    - {kind: retrieval_index, name: kb, version: \"2026-03-01\"}\n"
                  "Its folder's git commit is recorded, with -dirty where files were changed."},
      [options, context] { return Snapshot(*options, *context); });
  verb->add_option("MANIFEST", options->manifest, "a JSON or YAML file")->required();
  verb->add_option("--service", options->service, "of this service; else as the manifest says")
      ->type_name("NAME");
  verb->add_option("--note", options->note, "why: \"deploy of v15\"")->type_name("TEXT");
  verb->add_option("--tag", options->tags, "tag the snapshot; repeatable")
      ->type_name("NAME=VALUE")
      ->check([](const std::string& text) {
        return text.find('=') == std::string::npos ? "no NAME=VALUE" : std::string();
      });
}

}  // namespace reenact::tools
