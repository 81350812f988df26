#include "tools/reenact/replay/replay_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"

#include "schema/recorded_command.h"
#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/record/interruption.h"
#include "tools/reenact/replay/override_check.h"

namespace reenact::tools {
namespace {

// While it lives, standard output is where standard error is, for this process and its children.
class OutputToError {
 public:
  OutputToError() {
    std::fflush(stdout);
    saved_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (saved_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  }

  ~OutputToError() {
    if (saved_ < 0) return;
    std::fflush(stdout);
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
  }

  OutputToError(const OutputToError&) = delete;
  OutputToError& operator=(const OutputToError&) = delete;

 private:
  int saved_ = -1;
};

// `tool:NAME=@FILE` takes the answer from a file; clock and component values are written out.
absl::StatusOr<replayer::Override> ReadOverride(const std::string& text) {
  absl::StatusOr<replayer::Override> parsed = replayer::ParseOverride(text);
  if (!parsed.ok() || parsed->target == replayer::Override::Target::kClock) return parsed;
  if (parsed->value.empty() || parsed->value[0] != '@') return parsed;
  absl::StatusOr<std::string> bytes = ReadFile(parsed->value.substr(1));
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("override \"", text, "\": ", bytes.status().message()));
  }
  parsed->value = *std::move(bytes);
  return parsed;
}

}  // namespace

void AddReplayFlags(CLI::App* verb, ReplayFlags* flags) {
  verb->add_option("--drive", flags->drive_url,
                   "loopback URL to which the recorded input is sent; else the program's OnReplay "
                   "handler is called, or it starts the run itself")
      ->type_name("URL");
  verb->add_option("--override", flags->overrides,
                   "change one recorded input on purpose: clock=TIME, tool:NAME=VALUE, "
                   "retrieval:NAME=VALUE, component:NAME=VALUE; VALUE may be @FILE")
      ->type_name("WHAT=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--timeout", flags->timeout, "for one replay: seconds, or 2m")
      ->type_name("TIME")
      ->capture_default_str();
  auto* no_guard =
      verb->add_flag("--no-guard", flags->no_guard,
                     "do not keep the program from the network; the level is at most R1");
  verb->add_flag("--require-guard", flags->require_guard,
                 "refuse to run where the kernel does not let the network be guarded")
      ->excludes(no_guard);
  verb->add_flag("--pace", flags->pace,
                 "runs of reenact record: answers take as long as they took when recorded");
}

absl::StatusOr<replayer::RunnerOptions> ToRunnerOptions(const ReplayFlags& flags,
                                                        const Context& context,
                                                        const schema::Run& run) {
  if (context.command.empty() && !schema::CommandOf(run)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "which program should run? Name it as it runs in production, after --: reenact ",
        context.verb, " ... -- ./service --port 8080"));
  }
  const bool bare_seconds = flags.timeout.find_first_not_of("0123456789.") == std::string::npos;
  absl::StatusOr<int64_t> timeout_ns =
      ParseDuration(bare_seconds ? flags.timeout + "s" : flags.timeout);
  if (!timeout_ns.ok()) return timeout_ns.status();
  if (*timeout_ns < 1'000'000) {
    return absl::InvalidArgumentError("--timeout must be at least 1ms: nothing runs in no time");
  }
  replayer::RunnerOptions options;
  options.argv = context.command;
  options.drive_url = flags.drive_url;
  options.timeout_ms = *timeout_ns / 1'000'000;
  options.guard = !flags.no_guard;
  options.require_guard = flags.require_guard;
  options.recorded_pace = flags.pace;
  for (const std::string& text : flags.overrides) {
    absl::StatusOr<replayer::Override> parsed = ReadOverride(text);
    if (!parsed.ok()) return parsed.status();
    options.replay.overrides.push_back(*std::move(parsed));
  }
  return options;
}

absl::StatusOr<replayer::RunnerResult> ReplayOnce(const schema::RecordedRun& tape,
                                                  const replayer::RunnerOptions& options) {
  if (tape.in_progress) {
    return absl::FailedPreconditionError(absl::StrCat(
        "run ", schema::ToString(tape.run.id), " is still going on; replay it when it has ended"));
  }
  const absl::Status overridable = CheckOverrides(tape, options.replay.overrides);
  if (!overridable.ok()) return overridable;
  Interruption interruption;
  replayer::RunnerOptions interruptible = options;
  interruptible.interrupted = Interruption::Happened;
  auto result = [&] {
    const OutputToError redirect;
    return replayer::RunReplay(tape, interruptible);
  }();
  interruption.PassOn();
  return result;
}

bool ComparedNothing(const replayer::RunnerResult& result) {
  const replayer::ReplayReport& report = result.report;
  return report.divergences.empty() && report.calls_served + report.readings_served == 0;
}

int ExitCodeOf(const replayer::RunnerResult& result) {
  switch (result.verdict) {
    case replayer::Verdict::kReproduced:
      return ComparedNothing(result) ? kExitInconclusive : kExitOk;
    case replayer::Verdict::kDiverged:
      return kExitFinding;
    case replayer::Verdict::kInconclusive:
      break;
  }
  return kExitInconclusive;
}

std::string ReproducingCommand(const std::string& store, const std::string& verb_and_subject,
                               const ReplayFlags& flags, const std::vector<std::string>& command) {
  std::string line = "reenact " + verb_and_subject;
  if (!store.empty()) line += " --store " + ShellQuoted(store);
  if (!flags.drive_url.empty()) line += " --drive " + ShellQuoted(flags.drive_url);
  for (const std::string& text : flags.overrides) line += " --override " + ShellQuoted(text);
  if (flags.timeout != ReplayFlags().timeout) line += " --timeout " + ShellQuoted(flags.timeout);
  if (flags.no_guard) line += " --no-guard";
  if (flags.require_guard) line += " --require-guard";
  if (flags.pace) line += " --pace";
  if (!command.empty()) line += " --";
  // What a report is pasted into does not get the credentials that the program was given.
  for (const std::string& word : schema::CommandArguments(command)) line += " " + ShellQuoted(word);
  return line;
}

}  // namespace reenact::tools
