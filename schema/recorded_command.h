// A command as it was recorded by `reenact record -- CMD…`: what is needed to run it again. It is
// the input of its run, so that it is stored, redacted, shown and bundled like any input; how the
// command ended is the run's output.
//
// Values and their JSON form. Nothing here starts a program or reads the environment.

#ifndef REENACT_SCHEMA_RECORDED_COMMAND_H_
#define REENACT_SCHEMA_RECORDED_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/record.h"

namespace reenact::schema {

// Stands for the address of the proxy, "http://127.0.0.1:41234", in the values of
// RecordedCommand::proxy_environment: the answer server of a replay has another port.
inline constexpr std::string_view kProxyMark = "{proxy}";

// One upstream of the proxy.
struct CommandRoute {
  std::string name;      // "openai"
  std::string prefix;    // Of the paths that go there, "/openai"; "" is all that no other takes.
  std::string upstream;  // "https://api.openai.com", without a final slash.
  // Put before a path that does not begin with it; mostly empty.
  std::string implied_path = {};

  bool operator==(const CommandRoute&) const = default;
};

struct RecordedCommand {
  std::vector<std::string> argv;
  std::string directory;  // Working directory, absolute.
  // Of the command, without what the recording itself set. The value of a variable that is a
  // credential by its name is kRedactedMark; see CommandVariable.
  Tags environment;
  // What was set so that clients speak to the proxy: {"OPENAI_BASE_URL", "{proxy}/openai/v1"}.
  Tags proxy_environment;
  std::vector<CommandRoute> routes;
  std::string git_commit;  // Of the working directory; empty where there is none.
  bool git_dirty = false;
  bool clock_frozen = false;   // The clock shim was preloaded.
  bool random_frozen = false;  // So were the sources of random numbers.
  bool stdout_captured = false;
  bool stderr_captured = false;

  bool operator==(const RecordedCommand&) const = default;
};

// How it ended. Exit status as a shell gives it, or the signal; the other is 0.
struct CommandEnd {
  int32_t exit_status = 0;
  int32_t signal = 0;
  std::optional<std::string> standard_output;  // Absent: not captured.
  std::optional<std::string> standard_error;

  bool operator==(const CommandEnd&) const = default;
};

// The entry of the run of a command: "exec node agent.mjs": the program and, where it is an
// interpreter's, its script, both without their folders.
std::string EntryOf(const RecordedCommand& command);

// The input of the run, and its output: JSON. Bytes that are no UTF-8 are kept as they are.
std::string EncodeCommand(const RecordedCommand& command);
std::string EncodeCommandEnd(const CommandEnd& end);

// Nothing: `run` was not recorded from a command, or its input is damaged or was cut.
std::optional<RecordedCommand> CommandOf(const Run& run);
std::optional<CommandEnd> DecodeCommandEnd(std::string_view output);

// The state and detail of a run whose command ended so: complete for status 0, else error with
// "exit status 3" or "signal 9".
std::pair<EndState, std::string> EndStateOf(const CommandEnd& end);

// A variable as it is kept: with kRedactedMark for a value where the name says that it is a
// credential ("OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD"). Values that hold credentials in
// other ways are found by redaction, as in every input.
std::pair<std::string, std::string> CommandVariable(std::string_view name, std::string_view value);

// A command line as it is kept: the values of "--api-key=VALUE", "--token VALUE" and
// "DB_PASSWORD=VALUE" are kRedactedMark. What is recorded so runs again with the mark in their
// place.
std::vector<std::string> CommandArguments(const std::vector<std::string>& argv);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_RECORDED_COMMAND_H_
