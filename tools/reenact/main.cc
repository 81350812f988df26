// The `reenact` command. Each verb is a file of its own; this one reads the command line, picks the
// verb and turns every outcome into one of four exit codes (exit_code.h).

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/reenact/io/suggestion.h"
#include "tools/reenact/monitor/drift_verbs.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

constexpr std::string_view kStory =
    R"(Reenact records what an LLM application did, and runs it again when it went wrong.

  A service links the SDK, and each of its runs lands in a store: model calls byte for byte,
  tools, retrievals, clock readings, random draws, prompt versions.
  Last night an answer was wrong. Find it, and read what happened:
    reenact list --since 12h --errors
    reenact show last
  Keep it, and run the same program again on the same answers; nothing live is reached:
    reenact incident open RUN --title 'refund of 1,200 instead of 120'
    reenact replay RUN -- ./refund-service
  Then keep it from coming back:
    reenact fixture add RUN --out refund.reenact
    reenact fixture run refund.reenact -- ./refund-service

)";

constexpr std::string_view kExitCodes =
    "Exit codes: 0 done, and equal or clean; 1 divergence, difference or finding;\n"
    "2 usage, or refused; 3 inconclusive: could not measure, or nothing to compare.\n"
    "The store: --store, else REENACT_STORE, else $XDG_DATA_HOME/reenact.\n"
    "`reenact VERB --help` shows a verb's options, with an example.";

bool WantsColor(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return isatty(descriptor) != 0;
}

// The deepest verb that was named: whose help to point at.
const CLI::App* ChosenVerb(const CLI::App& app) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  return verb;
}

std::string FullName(const CLI::App* verb) {
  std::string name = verb->get_name();
  for (const CLI::App* up = verb->get_parent(); up != nullptr; up = up->get_parent()) {
    name = up->get_name() + " " + name;
  }
  return name;
}

std::vector<std::string> OptionNames(const CLI::App* verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> VerbNames(const CLI::App* parent) {
  std::vector<std::string> names;
  for (const CLI::App* verb : parent->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

// The first word that nothing took, and what may have been meant.
std::string UnexpectedText(const CLI::App& app, const CLI::App* verb) {
  const std::vector<std::string> rest = app.remaining(true);
  const std::string word = rest.empty() ? "" : rest.front();
  const std::vector<std::string> verbs = VerbNames(verb);
  std::string text = "\"" + word + "\"";
  std::string meant;
  if (word.rfind('-', 0) == 0) {
    text += " is no option of this verb";
    meant = ClosestWord(word.substr(0, word.find('=')), OptionNames(verb));
  } else if (!verbs.empty()) {
    text += " is no verb";
    meant = ClosestWord(word, verbs);
  } else {
    text += " is one word too many; quote words that belong together";
  }
  return meant.empty() ? text : text + "; did you mean " + meant + "?";
}

int RefuseUsage(const CLI::App& app, const CLI::ParseError& error, Context* context) {
  const CLI::App* verb = ChosenVerb(app);
  const std::string name = FullName(verb);
  const size_t space = name.find(' ');
  if (space != std::string::npos) context->verb = name.substr(space + 1);
  const bool unexpected = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string text = unexpected ? UnexpectedText(app, verb) : std::string(error.what());
  const int exit_code = Refuse(*context, text);
  std::fprintf(stderr, "`%s --help` shows what there is\n", name.c_str());
  return exit_code;
}

void SplitCommand(int argc, char** argv, std::vector<std::string>* arguments, Context* context) {
  int i = 1;
  for (; i < argc && std::string_view(argv[i]) != "--"; ++i) arguments->emplace_back(argv[i]);
  if (i == argc) return;
  context->has_command = true;
  for (++i; i < argc; ++i) context->command.emplace_back(argv[i]);
}

// What is thrown on the way (memory, above all) ends as any failure: said, and with --json said as
// JSON.
int Act(const Context& context) {
  try {
    return context.action();
  } catch (const std::exception& failure) {
    return FailWith(context, absl::InternalError(failure.what()), kExitInconclusive);
  }
}

int Main(int argc, char** argv) {
  Context context;
  context.style.color = WantsColor(STDOUT_FILENO);
  context.progress = isatty(STDERR_FILENO) != 0;
  std::vector<std::string> arguments;
  SplitCommand(argc, argv, &arguments, &context);

  CLI::App app("Record and replay LLM incidents", "reenact");
  app.get_formatter()->column_width(16);
  app.footer(std::string(kExitCodes));
  app.require_subcommand(0, 1);
  app.add_option("--store", context.store, "store folder or bundle file")->type_name("DIR|FILE");
  app.add_flag("--json", context.json, "JSON on standard output");
  app.set_version_flag("--version", "reenact " REENACT_VERSION);
  AddRecordVerb(&app, &context);
  AddProxyVerb(&app, &context);
  AddMcpVerb(&app, &context);
  AddListVerb(&app, &context);
  AddShowVerb(&app, &context);
  AddSearchVerb(&app, &context);
  AddDiffVerb(&app, &context);
  AddIncidentVerb(&app, &context);
  AddAsofVerb(&app, &context);
  AddSnapshotVerb(&app, &context);
  AddFingerprintsVerb(&app, &context);
  AddLintVerb(&app, &context);
  AddDriftVerb(&app, &context);
  AddEvalVerb(&app, &context);
  AddCompareVerb(&app, &context);
  AddReplayVerb(&app, &context);
  AddForkVerb(&app, &context);
  AddRerunVerb(&app, &context);
  AddDiagnoseVerb(&app, &context);
  AddExplainVerb(&app, &context);
  AddEnvelopeVerb(&app, &context);
  AddServeVerb(&app, &context);
  AddFixtureVerb(&app, &context);
  AddExportVerb(&app, &context);
  AddImportVerb(&app, &context);
  AddVerifyVerb(&app, &context);
  AddSignVerb(&app, &context);
  AddKeygenVerb(&app, &context);
  AddRedactVerb(&app, &context);
  AddDoctorVerb(&app, &context);
  AddEngineVerb(&app, &context);

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    Print(app.help());
    return kExitOk;
  } catch (const CLI::CallForVersion& version) {
    Print(std::string(version.what()) + "\n");
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return RefuseUsage(app, error, &context);
  }
  if (context.action) return Act(context);
  if (!arguments.empty() || context.has_command) {
    return Refuse(context, "no verb was given; `reenact --help` lists them");
  }
  Print(std::string(kStory) + app.help());
  return kExitOk;
}

}  // namespace
}  // namespace reenact::tools

int main(int argc, char** argv) {
  int code = reenact::tools::kExitRefused;
  try {
    code = reenact::tools::Main(argc, argv);
  } catch (const std::exception& failure) {  // Memory, above all.
    std::fprintf(stderr, "reenact: %s\n", failure.what());
    return reenact::tools::kExitInconclusive;
  }
  // A report that did not get out is no success: `reenact list > /dev/full`.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "reenact: standard output could not be written\n");
    return code == reenact::tools::kExitOk ? reenact::tools::kExitInconclusive : code;
  }
  return code;
}
