// What the verbs share: the options that all of them take, how they print, and how they fail.

#ifndef REENACT_TOOLS_REENACT_VERB_H_
#define REENACT_TOOLS_REENACT_VERB_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "tools/reenact/exit_code.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace reenact::tools {

// One invocation of `reenact`.
struct Context {
  std::string store;                 // --store; empty: not given.
  bool json = false;                 // --json
  std::vector<std::string> command;  // The words after `--`.
  bool has_command = false;          // There was a `--`.
  Style style;                       // Of standard output.
  bool progress = false;             // Standard error is a terminal: progress may be drawn there.
  std::string verb;                  // "list", "incident open": the one that was chosen.
  std::function<int()> action;       // Runs it; returns the exit code.
};

// How a verb introduces itself.
struct VerbText {
  const char* name;
  const char* summary;         // One line.
  const char* example;         // Whole command lines, indented by two spaces.
  bool takes_command = false;  // `-- COMMAND` may follow.
  bool takes_store = true;     // --store means something to it.
};

// Adds a verb with --json, help and, mostly, --store. `action` runs when it was chosen.
CLI::App* AddVerb(CLI::App* parent, Context* context, const VerbText& text,
                  std::function<int()> action);

// The verbs, one file each.
void AddListVerb(CLI::App* app, Context* context);
void AddShowVerb(CLI::App* app, Context* context);
void AddSearchVerb(CLI::App* app, Context* context);
void AddDiffVerb(CLI::App* app, Context* context);
void AddAsofVerb(CLI::App* app, Context* context);
void AddSnapshotVerb(CLI::App* app, Context* context);
void AddFingerprintsVerb(CLI::App* app, Context* context);
void AddLintVerb(CLI::App* app, Context* context);
void AddEvalVerb(CLI::App* app, Context* context);
void AddCompareVerb(CLI::App* app, Context* context);
void AddIncidentVerb(CLI::App* app, Context* context);
void AddRecordVerb(CLI::App* app, Context* context);
void AddProxyVerb(CLI::App* app, Context* context);
void AddMcpVerb(CLI::App* app, Context* context);
void AddReplayVerb(CLI::App* app, Context* context);
void AddRerunVerb(CLI::App* app, Context* context);
void AddDiagnoseVerb(CLI::App* app, Context* context);
void AddExplainVerb(CLI::App* app, Context* context);
void AddEnvelopeVerb(CLI::App* app, Context* context);
void AddForkVerb(CLI::App* app, Context* context);
void AddServeVerb(CLI::App* app, Context* context);
void AddFixtureVerb(CLI::App* app, Context* context);
void AddExportVerb(CLI::App* app, Context* context);
void AddImportVerb(CLI::App* app, Context* context);
void AddVerifyVerb(CLI::App* app, Context* context);
void AddSignVerb(CLI::App* app, Context* context);
void AddKeygenVerb(CLI::App* app, Context* context);
void AddRedactVerb(CLI::App* app, Context* context);
void AddDoctorVerb(CLI::App* app, Context* context);
void AddEngineVerb(CLI::App* app, Context* context);

// For numbers that count something.
CLI::Validator NonNegative();
// For whole numbers from `low` to `high`; with the same words in all versions of CLI11.
CLI::Validator InRange(int64_t low, int64_t high);

// To standard output, byte for byte.
void Print(std::string_view text);
// A line to standard error: "reenact list: ...". Made printable here.
void Note(const Context& context, std::string_view text);
// Says what failed, on standard error and, with --json, as a document on standard output.
// Returns the exit code for it.
int Fail(const Context& context, const absl::Status& status);
// The same with an exit code of the caller's choice.
int FailWith(const Context& context, const absl::Status& status, int exit_code);
// A file that is in the way may be replaced: says how. Other statuses stay as they are.
absl::Status OrReplace(absl::Status status);
// Fail with InvalidArgument: the caller of the command can mend it.
int Refuse(const Context& context, std::string_view message);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_VERB_H_
