#include "tools/reenact/monitor/drift_source.h"

#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "replayer/identity/fingerprint_timeline.h"
#include "store/reader/sighting.h"
#include "tools/reenact/io/time_option.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/record/own_run.h"

namespace reenact::tools {
namespace {

absl::StatusOr<Windows> Probe(const DriftFlags& flags, const Context& context,
                              rerun::Ledger* ledger, drift::BaselineFile* file) {
  TargetFlags target_flags = flags.target;
  if (target_flags.target.empty()) target_flags.target = file->target;
  if (target_flags.model.path.empty()) target_flags.model.path = file->local_model;
  const auto interval_ns = ParseDuration(flags.every);
  if (!interval_ns.ok()) return interval_ns.status();
  const auto target = MakeTarget(target_flags, nullptr, context, ledger);
  if (!target.ok()) return target.status();
  file->baseline.target = (*target)->Name();
  const int64_t each = file->plan.probes_per_window();
  Note(context, absl::StrCat("budget: ", Counted(flags.window_count, "window"), " of ",
                             Counted(each, "probe"), ", ", WithThousands(flags.window_count * each),
                             " requests of one token"));
  return ProbeWindows(target->get(), file->plan, flags.window_count, *interval_ns, context);
}

absl::StatusOr<Windows> Read(const DriftFlags& flags, const Context& context,
                             drift::BaselineFile* file) {
  RecordedCalls wanted{.service = file->service,
                       .model = file->plan.model,
                       .since_wall_ns = {},
                       .until_wall_ns = {},
                       .window_ns = file->window_ns};
  for (const auto& [text, time] : {std::pair{&flags.since, &wanted.since_wall_ns},
                                   std::pair{&flags.until, &wanted.until_wall_ns}}) {
    if (text->empty()) continue;
    const auto read = ReadTime(context, *text);
    if (!read.ok()) return read.status();
    *time = *read;
  }
  // What the baseline has seen is not judged against it.
  if (!wanted.since_wall_ns && !file->baseline.windows.empty())
    wanted.since_wall_ns = file->baseline.windows.back().at_wall_ns + file->window_ns;
  auto windows = ReadWindows(wanted, context, &file->plan.model);
  file->baseline.target = absl::StrCat("calls of ", file->service);
  return windows;
}

}  // namespace

void AddDriftFlags(CLI::App* verb, DriftFlags* flags) {
  AddTargetFlags(verb, &flags->target);
  verb->get_option("--target")->required(false);
  verb->add_option("--windows", flags->window_count, "windows to probe")
      ->check(InRange(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--every", flags->every, "a window each so often: 30s, 10m, 1h")
      ->type_name("TIME")
      ->capture_default_str();
  verb->add_option("--since", flags->since, "recorded calls from here on: 2h, 3d (ago), or a time")
      ->type_name("TIME");
  verb->add_option("--until", flags->until, "recorded calls before this")->type_name("TIME");
  verb->add_flag("--no-record", flags->no_record, "keep the probes out of the store");
}

absl::StatusOr<Windows> TakeWindows(const DriftFlags& flags, const Context& context,
                                    rerun::Ledger* ledger, drift::BaselineFile* file) {
  auto windows =
      file->is_recorded() ? Read(flags, context, file) : Probe(flags, context, ledger, file);
  file->baseline.model = file->plan.model;
  return windows;
}

absl::StatusOr<std::string> KeepProbes(const DriftFlags& flags, std::string_view purpose,
                                       const std::string& name, std::vector<schema::Event> calls,
                                       const Context& context) {
  if (flags.no_record || calls.empty()) return std::string();
  const std::string_view service =
      purpose == "drift_baseline" ? identity::kBaselineService : identity::kCheckService;
  OwnRun own;
  own.service = absl::StrCat(std::string(service), name);
  own.entry = absl::StrCat("reenact ", context.verb);
  own.tags = {{store::kPurposeTag, std::string(purpose)}, {store::kPurposeNameTag, name}};
  own.calls = std::move(calls);
  return KeepOwnRun(std::move(own), context);
}

absl::StatusOr<drift::BaselineFile> ReadBaseline(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text.ok()) return text.status();
  auto file = drift::ParseBaseline(*text);
  if (file.ok()) return file;
  return absl::Status(file.status().code(), absl::StrCat(path, ": ", file.status().message()));
}

}  // namespace reenact::tools
