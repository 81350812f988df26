#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "replayer/analysis/descriptive.h"
#include "replayer/drift/drift_check.h"
#include "replayer/eval/cases.h"
#include "tools/reenact/io/measure_text.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/monitor/drift_source.h"
#include "tools/reenact/monitor/drift_text.h"
#include "tools/reenact/monitor/drift_verbs.h"
#include "tools/reenact/record/interruption.h"

namespace reenact::tools {
namespace {

constexpr int64_t kDefaultWindows = 20;  // 19 against the first: the least for a level of 0.05.
constexpr int64_t kWholeDayNs = int64_t{24} * 3600 * 1'000'000'000;

struct BaselineFlags {
  DriftFlags source{.window_count = kDefaultWindows};
  std::string out;
  std::string name;
  std::string service;
  std::string window = "1h";
  std::string prompts;
  drift::ProbePlan plan;
  bool append = false;
  std::vector<std::string> refresh;
};

absl::StatusOr<drift::BaselineFile> Describe(const BaselineFlags& flags) {
  drift::BaselineFile file;
  file.target = flags.source.target.target;
  file.local_model = flags.source.target.model.path;
  file.service = flags.service;
  file.baseline.name =
      flags.name.empty() ? std::filesystem::path(flags.out).stem().string() : flags.name;
  file.plan = flags.plan;
  file.plan.model = flags.source.target.ask_for;
  if (file.is_recorded()) {
    const auto window_ns = ParseDuration(flags.window);
    if (!window_ns.ok()) return window_ns.status();
    if (*window_ns == 0) return absl::InvalidArgumentError("--window 0 holds nothing");
    file.window_ns = *window_ns;
    return file;
  }
  if (file.plan.model.empty() && file.target != "local")
    return absl::InvalidArgumentError("which model should be asked? --as MODEL says it");
  if (file.plan.model.empty()) file.plan.model = "local";
  if (flags.prompts.empty()) {
    file.plan.prompts = drift::CanaryPrompts();
    return file;
  }
  const auto text = ReadFile(flags.prompts);
  if (!text.ok()) return text.status();
  const auto cases = eval::ParsePrompts(*text);
  if (!cases.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(flags.prompts, ": ", cases.status().message()));
  }
  file.plan.prompts = *cases;
  return file;
}

// What the baseline can be used for, in words.
std::string Render(const drift::BaselineFile& file, const std::string& path, const Style& style) {
  const drift::Baseline& baseline = file.baseline;
  const auto count = static_cast<int64_t>(baseline.windows.size());
  int64_t probes = 0;
  for (const drift::Window& window : baseline.windows)
    probes += static_cast<int64_t>(window.probes.size());
  std::string out = absl::StrCat(
      style(Ink::kBold, absl::StrCat("baseline ", Printable(baseline.name), ": ",
                                     Counted(count, "window"), ", ", Counted(probes, "probe"))),
      "\n  ", Printable(baseline.model), " at ", Printable(baseline.target), ", in ",
      Printable(path), "\n");
  // A window against the first, as a check would take it.
  const drift::DriftReport against = drift::Check(baseline, {baseline.windows.back()});
  if (!against.null.empty()) {
    const analysis::NoiseFloor floor = analysis::JudgeAgainstBaselines(against.null, 0);
    absl::StrAppend(&out, DriftChart(against.null, {}, 0), "  noise floor: median ",
                    MeasureText(floor.median), " nats; p cannot go below ",
                    MeasureText(floor.smallest_p),
                    floor.smallest_p.value() > analysis::DriftGates().alpha
                        ? ": too few windows for a level of 0.05, unless none ever differs\n"
                        : "\n");
  }
  const int64_t span = baseline.windows.back().at_wall_ns - baseline.windows.front().at_wall_ns;
  absl::StrAppend(
      &out, "  spans ", FormatDuration(span),
      span < kWholeDayNs ? ": what load and hosts do over a day and a week is not in it\n" : "\n");
  return out;
}

// The windows that were taken, in the file and in the store. Returns the exit code.
int Finish(const BaselineFlags& flags, const std::string& path, drift::BaselineFile file,
           Windows taken, const rerun::Ledger& ledger, double seconds, const Context& context) {
  const auto kept = KeepProbes(flags.source, "drift_baseline", file.baseline.name,
                               std::move(taken.calls), context);
  if (!kept.ok()) return Fail(context, kept.status());
  std::erase_if(taken.windows, [](const drift::Window& window) { return window.probes.empty(); });
  std::move(taken.windows.begin(), taken.windows.end(), std::back_inserter(file.baseline.windows));
  if (file.baseline.windows.empty()) {
    return FailWith(context,
                    absl::UnavailableError(absl::StrCat(
                        "no baseline: ", taken.failure_example.empty()
                                             ? "no call with alternatives to its first token"
                                             : taken.failure_example)),
                    kExitInconclusive);
  }
  const absl::Status written = WriteFile(path, drift::BaselineText(file), true);
  if (!written.ok()) return Fail(context, written);
  if (context.json) {
    JsonWriter json = JsonWriter::Document(context.verb);
    json.TextField("baseline", file.baseline.name);
    json.TextField("file", path);
    json.TextField("model", file.baseline.model);
    json.TextField("target", file.baseline.target);
    json.IntField("windows", static_cast<int64_t>(file.baseline.windows.size()));
    json.Key("null");
    json.BeginArray();
    for (const double value : drift::Check(file.baseline, {file.baseline.windows.back()}).null)
      json.Real(value);
    json.EndArray();
    json.IntField("left_out", taken.left_out);
    WriteCost(ledger.total(), seconds, &json);
    json.GivenTextField("run", *kept);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(Render(file, path, context.style));
    if (!file.is_recorded()) Print("  cost " + CostText(ledger.total(), seconds) + "\n");
    if (taken.left_out > 0)
      Print(absl::StrCat("  left out ", taken.left_out, " calls with other settings\n"));
    if (!kept->empty()) Print("  recorded as " + *kept + "\n");
  }
  if (!taken.stopped) return kExitOk;
  Note(context, "stopped before all windows were taken; --append adds more");
  return kExitInconclusive;
}

double SecondsTaken(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int TakeBaseline(const BaselineFlags& flags, const Context& context) {
  const auto begin = std::chrono::steady_clock::now();
  const bool is_there = std::filesystem::exists(flags.out);
  if (is_there && !flags.append) {
    return Fail(context, absl::AlreadyExistsError(
                             absl::StrCat(flags.out,
                                          " is there: --append adds windows to it, --refresh takes "
                                          "it anew where it is void")));
  }
  auto file = is_there ? ReadBaseline(flags.out) : Describe(flags);
  if (!file.ok()) return Fail(context, file.status());
  const Interruption interruption;
  rerun::Ledger ledger(BudgetOf(flags.source.target));
  auto taken = TakeWindows(flags.source, context, &ledger, &*file);
  if (!taken.ok()) return Fail(context, taken.status());
  return Finish(flags, flags.out, *std::move(file), *std::move(taken), ledger, SecondsTaken(begin),
                context);
}

// Takes a baseline anew where its fingerprints are gone; one that stands stays as it is.
int RefreshOne(const BaselineFlags& flags, const std::string& path, const Context& context) {
  const auto begin = std::chrono::steady_clock::now();
  auto file = ReadBaseline(path);
  if (!file.ok()) return Fail(context, file.status());
  rerun::Ledger ledger(BudgetOf(flags.source.target));
  DriftFlags source = flags.source;
  source.window_count = 1;
  auto taken = TakeWindows(source, context, &ledger, &*file);
  if (!taken.ok()) return Fail(context, taken.status());
  std::erase_if(taken->windows, [](const drift::Window& window) { return window.probes.empty(); });
  if (taken->windows.empty()) {
    return FailWith(context,
                    absl::UnavailableError(
                        absl::StrCat(path, ": nothing to compare; ", taken->failure_example)),
                    kExitInconclusive);
  }
  const absl::Status comparable = Comparable(file->baseline, taken->windows, {});
  if (comparable.ok()) {
    Note(context, absl::StrCat(path, " stands"));
    return kExitOk;
  }
  Note(context, absl::StrCat(path, " is taken anew: ", comparable.message()));
  const auto wanted = static_cast<int64_t>(file->baseline.windows.size());
  file->baseline.windows.clear();
  if (!file->is_recorded() && wanted > 1) {
    source.window_count = wanted - 1;
    auto more = TakeWindows(source, context, &ledger, &*file);
    if (!more.ok()) return Fail(context, more.status());
    std::move(more->windows.begin(), more->windows.end(), std::back_inserter(taken->windows));
    std::move(more->calls.begin(), more->calls.end(), std::back_inserter(taken->calls));
    taken->stopped = more->stopped;
  }
  return Finish(flags, path, *std::move(file), *std::move(taken), ledger, SecondsTaken(begin),
                context);
}

int BaselineVerb(const BaselineFlags& flags, const Context& context) {
  if (!flags.refresh.empty()) {
    const Interruption interruption;
    int worst = kExitOk;
    for (const std::string& path : flags.refresh)
      worst = std::max(worst, RefreshOne(flags, path, context));
    return worst;
  }
  if (flags.out.empty()) return Refuse(context, "where to? -o FILE");
  const bool adds = flags.append && std::filesystem::exists(flags.out);
  if (!adds && flags.source.target.target.empty() == flags.service.empty())
    return Refuse(context, "give --target, to probe, or --service, whose calls are recorded");
  return TakeBaseline(flags, context);
}

void AddPlanFlags(CLI::App* verb, BaselineFlags* flags) {
  verb->add_option("--service", flags->service, "the recorded calls of this service, not probes")
      ->type_name("NAME");
  verb->add_option("--window", flags->window, "recorded calls of so long are one window")
      ->type_name("TIME")
      ->capture_default_str();
  verb->add_option(
          "--prompts", flags->prompts,
          "a JSON object a line, with prompt (and system) or messages; else three canaries")
      ->type_name("FILE");
  verb->add_option("--probes", flags->plan.probes_per_prompt, "of each prompt in each window")
      ->check(InRange(1, 10'000))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--top", flags->plan.top_count, "alternatives to ask for")
      ->check(InRange(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--temperature", flags->plan.temperature, "to ask with")
      ->type_name("T")
      ->capture_default_str();
  verb->add_flag("--scaled", flags->plan.scaled,
                 "the server's logprobs are those after temperature; they are compared with such "
                 "alone");
}

}  // namespace

void AddDriftVerb(CLI::App* app, Context* context) {
  CLI::App* drift = app->add_subcommand(
      "drift", "Has an endpoint moved? Windows of logprobs against their noise: baseline, check");
  drift->require_subcommand(1);
  auto flags = std::make_shared<BaselineFlags>();
  CLI::App* verb = AddVerb(
      drift, context,
      {.name = "baseline",
       .summary = "What an endpoint's first tokens are like, and how far that moves by itself",
       .example =
           "  reenact drift baseline --target https://api.openai.com/v1 --as gpt-4.1 --windows "
           "7\\\n"
           "      --every 1h -o canary.drift\n"
           "  reenact drift baseline --append -o canary.drift --windows 7 --every 1h\n"
           "  reenact drift baseline --service refund-agent --since 14d -o refunds.drift\n"
           "  reenact drift baseline --refresh canary.drift refunds.drift\n\n"
           "Windows should lie at different times of the day and over a week: what they do not\n"
           "hold is later taken for a change. 20 are the least for a level of 0.05."},
      [flags, context] { return BaselineVerb(*flags, *context); });
  AddDriftFlags(verb, &flags->source);
  verb->add_option("-o,--out", flags->out, "the baseline")->type_name("FILE");
  verb->add_option("--name", flags->name, "what to call it; else as the file")->type_name("NAME");
  AddPlanFlags(verb, flags.get());
  verb->add_flag("--append", flags->append, "add windows to the baseline, asked as it was");
  verb->add_option("--refresh", flags->refresh,
                   "take these anew where their fingerprints are gone; nothing where they stand")
      ->type_name("FILE");
  AddDriftCheckVerb(drift, context);
}

}  // namespace reenact::tools
