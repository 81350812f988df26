#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "store/reader/bundle.h"
#include "store/store_layout.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/replay/fixture_bundle.h"
#include "tools/reenact/replay/replay_command.h"
#include "tools/reenact/replay/replay_text.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct FixtureOptions {
  std::string run;
  std::string file;
  std::string name;
  std::string max_age = "90d";
  bool replace = false;
  ReplayFlags flags;
};

int Add(const FixtureOptions& options, const Context& context) {
  Fixture fixture;
  if (options.max_age != "never") {
    absl::StatusOr<int64_t> max_age = ParseDuration(options.max_age);
    if (!max_age.ok()) return Fail(context, max_age.status());
    fixture.max_age_ns = *max_age;
  }
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  auto tape = LoadRun(reader->get(), options.run);
  if (!tape.ok()) return FailReading(context, **reader, tape.status());
  NoteProblems(context, (*reader)->problems());
  const absl::Status fit = CheckFixtureTape(*tape);
  if (!fit.ok()) return Fail(context, fit);
  fixture.tape = *std::move(tape);
  fixture.name = options.name.empty() ? fixture.tape.run.entry : options.name;
  fixture.reviewed_wall_ns = store::WallNowNs();
  const absl::Status written = store::WriteBundle(ToBundle(fixture), options.file, options.replace);
  if (!written.ok()) return Fail(context, OrReplace(written));
  if (context.json) {
    JsonWriter json = JsonWriter::Document(context.verb);
    json.TextField("file", options.file);
    json.TextField("name", fixture.name);
    json.TextField("run", schema::ToString(fixture.tape.run.id));
    json.IntField("events", static_cast<int64_t>(fixture.tape.events.size()));
    json.EndObject();
    Print(json.Take());
  } else {
    Print("wrote fixture " + Printable(options.file) + ": " +
          Counted(static_cast<int64_t>(fixture.tape.events.size()), "event") + " of run " +
          schema::ToString(fixture.tape.run.id) + "\n");
  }
  return kExitOk;
}

absl::StatusOr<Fixture> ReadFixture(const std::string& path) {
  auto bundle = store::ReadBundle(path);
  if (!bundle.ok()) return bundle.status();
  return FromBundle(*std::move(bundle), path);
}

void ReportRun(const Fixture& fixture, const replayer::RunnerResult& result,
               const std::vector<FixtureProblem>& problems, const Context& context) {
  if (context.json) {
    JsonWriter json = JsonWriter::Document(context.verb);
    json.TextField("name", fixture.name);
    json.BoolField("passed", problems.empty());
    json.Key("problems");
    json.BeginArray();
    for (const FixtureProblem& problem : problems) {
      json.BeginObject();
      json.TextField("kind", ToString(problem.kind));
      json.TextField("text", problem.text);
      json.EndObject();
    }
    json.EndArray();
    json.Key("replay");
    WriteReplay(fixture.tape, result, &json);
    json.EndObject();
    Print(json.Take());
    return;
  }
  Print(RenderReplay(fixture.tape, result, context.style) + "\n");
  const std::string name = Printable(fixture.name);
  if (problems.empty()) {
    Print(context.style(Ink::kGreen, "fixture " + name + " passed") + "\n");
    return;
  }
  for (const FixtureProblem& problem : problems) {
    Print(context.style(Ink::kRed, "fixture " + name +
                                       " failed: " + std::string(ToString(problem.kind)) + ": " +
                                       Printable(problem.text)) +
          "\n");
  }
}

int RunFixture(const FixtureOptions& options, const Context& context) {
  absl::StatusOr<Fixture> fixture = ReadFixture(options.file);
  if (!fixture.ok()) return Fail(context, fixture.status());
  absl::StatusOr<replayer::RunnerOptions> runner =
      ToRunnerOptions(options.flags, context, fixture->tape.run);
  if (!runner.ok()) return Fail(context, runner.status());
  auto result = ReplayOnce(fixture->tape, *runner);
  if (!result.ok()) return Fail(context, result.status());
  result->report.derived = {};  // Not kept: a fixture is run often.
  const std::vector<FixtureProblem> problems = JudgeFixture(*fixture, *result, store::WallNowNs());
  ReportRun(*fixture, *result, problems, context);
  if (!problems.empty() && !context.json) {
    const std::string again = ReproducingCommand("", "fixture run " + ShellQuoted(options.file),
                                                 options.flags, context.command);
    Print("To see it again:\n  " + Printable(again) + "\n");
  }
  return ExitCodeOf(problems);
}

int Update(const FixtureOptions& options, const Context& context) {
  absl::StatusOr<Fixture> fixture = ReadFixture(options.file);
  if (!fixture.ok()) return Fail(context, fixture.status());
  absl::StatusOr<replayer::RunnerOptions> runner =
      ToRunnerOptions(options.flags, context, fixture->tape.run);
  if (!runner.ok()) return Fail(context, runner.status());
  if (!runner->replay.overrides.empty()) {
    return Refuse(context, "what an override caused must not become the expectation; leave it out");
  }
  auto result = ReplayOnce(fixture->tape, *runner);
  if (!result.ok()) return Fail(context, result.status());
  const schema::RecordedRun old_tape = fixture->tape;
  const absl::Status accepted = AcceptReplay(*result, store::WallNowNs(), &*fixture);
  if (!accepted.ok()) {
    const bool unmeasured = ExitCodeOf(*result) == kExitInconclusive;
    result->report.derived = {};
    if (!context.json) Print(RenderReplay(old_tape, *result, context.style) + "\n");
    return FailWith(context, accepted, unmeasured ? kExitInconclusive : kExitFinding);
  }
  const absl::Status written = store::WriteBundle(ToBundle(*fixture), options.file, true);
  if (!written.ok()) return Fail(context, written);
  result->report.derived = {};
  if (context.json) {
    JsonWriter json = JsonWriter::Document(context.verb);
    json.TextField("file", options.file);
    json.IntField("changes_accepted", static_cast<int64_t>(result->report.divergences.size()));
    json.Key("replay");
    WriteReplay(old_tape, *result, &json);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(RenderReplay(old_tape, *result, context.style) + "\n");
    const auto changes = static_cast<int64_t>(result->report.divergences.size());
    const std::string file = Printable(options.file);
    Print(changes == 0 ? file + " is as it was; it counts as reviewed today\n"
                       : "accepted " + Counted(changes, "change") + " into " + file +
                             "; review it before you commit it\n");
  }
  return kExitOk;
}

}  // namespace

void AddFixtureVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<FixtureOptions>();
  CLI::App* group = app->add_subcommand(
      "fixture", "Incidents as regression tests, one committable file each: add, run, update");
  group->require_subcommand(1);
  group->footer("Example:\n  reenact fixture run refund.reenact -- ./refund-service");

  CLI::App* add = AddVerb(
      group, context,
      {.name = "add",
       .summary = "Writes a run as a fixture",
       .example = "  reenact fixture add last --out tests/refund.reenact --name wrong_refund"},
      [options, context] { return Add(*options, *context); });
  add->add_option("RUN", options->run, "an id, a unique prefix of one, or last")->required();
  add->add_option("--out", options->file, "the file to write")->required()->type_name("FILE");
  add->add_option("--name", options->name, "what to call it; else the run's entry")
      ->type_name("NAME");
  add->add_option("--max-age", options->max_age, "when it is stale: 90d, or never")
      ->type_name("TIME")
      ->capture_default_str();
  add->add_flag("--replace", options->replace, "write over a file that is there");

  CLI::App* run =
      AddVerb(group, context,
              {.name = "run",
               .summary = "Replays a fixture; fails when it diverged, or is stale, unused or empty",
               .example = "  reenact fixture run tests/refund.reenact -- ./refund-service",
               .takes_command = true},
              [options, context] { return RunFixture(*options, *context); });
  run->add_option("FILE", options->file, "the fixture")->required();
  AddReplayFlags(run, &options->flags);

  CLI::App* update =
      AddVerb(group, context,
              {.name = "update",
               .summary = "Makes what the program does now the expectation; recorded answers stay",
               .example = "  reenact fixture update tests/refund.reenact -- ./refund-service",
               .takes_command = true},
              [options, context] { return Update(*options, *context); });
  update->add_option("FILE", options->file, "the fixture")->required();
  AddReplayFlags(update, &options->flags);
}

}  // namespace reenact::tools
