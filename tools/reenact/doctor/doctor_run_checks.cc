// What is not on the record of one run: told, so that nobody believes that it was captured.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schema/recorded_command.h"
#include "schema/unobserved.h"
#include "tools/reenact/doctor/doctor_checks.h"
#include "tools/reenact/runs/run_view.h"

namespace reenact::tools {
namespace {

constexpr size_t kMostListed = 12;

std::string Joined(const std::vector<std::string>& texts) {
  std::string out;
  for (size_t i = 0; i < texts.size() && i < kMostListed; ++i) {
    out += (i > 0 ? ", " : "") + texts[i];
  }
  if (texts.size() > kMostListed) {
    out += " and " + std::to_string(texts.size() - kMostListed) + " more";
  }
  return out;
}

Check CheckConnections(const schema::Unobserved& unobserved) {
  Check check{.name = "connections",
              .text = "libc of the programs that were entered was asked for no other host"};
  std::vector<std::string> seen = unobserved.peers;
  seen.insert(seen.end(), unobserved.names.begin(), unobserved.names.end());
  for (const std::string& host : unobserved.tunnels) seen.push_back("tunnel to " + host);
  if (seen.empty()) return check;
  check.health = Health::kFinding;
  check.text = "went past the proxy, and is on no record: " + Joined(seen);
  check.way_out = "give the client a base URL of a --route; what a replay refuses is counted there";
  return check;
}

Check CheckPrograms(const schema::Unobserved& unobserved) {
  Check check{.name = "programs", .text = "each program that was started was entered"};
  if (unobserved.programs.empty()) return check;
  check.health = Health::kFinding;
  check.text = "neither clock nor connections of these were seen: " + Joined(unobserved.programs);
  check.way_out = "what they send through the proxy is on record all the same";
  return check;
}

// Tools that a model asked for, and of which no event has the name: they ran inside of the program.
Check CheckTools(const RunView& view) {
  std::set<std::string> recorded;
  for (const EventView& event : view.events) {
    if (event.event->boundary == schema::Boundary::kTool) recorded.insert(event.event->name);
  }
  std::map<std::string, int64_t> asked;
  for (const EventView& event : view.events) {
    for (const schema::Choice& choice : event.model.choices) {
      for (const schema::ToolCall& call : choice.tool_calls) ++asked[call.name];
    }
  }
  std::vector<std::string> unrecorded;
  for (const auto& [name, count] : asked) {
    if (!recorded.contains(name)) unrecorded.push_back(name + " (" + std::to_string(count) + ")");
  }
  if (unrecorded.empty())
    return {.name = "tools", .text = "each tool call of a model has a record"};
  return {.name = "tools",
          .health = Health::kNote,
          .text = "asked for by a model, without a record of that name: " + Joined(unrecorded),
          .way_out =
              "they run again on replay, or went over HTTP under another name; put `reenact "
              "mcp --` before a server, or a --route before a service"};
}

// The route that a variable points at: "openai" of "{proxy}/openai/v1".
std::string RouteOf(const std::string& value) {
  if (!value.starts_with(schema::kProxyMark)) return "";
  const size_t begin = schema::kProxyMark.size() + 1;
  return begin < value.size() ? value.substr(begin, value.find('/', begin) - begin) : "";
}

Check CheckVariables(const schema::RecordedRun& run, const schema::RecordedCommand& command) {
  std::vector<std::string> unused;
  for (const auto& [variable, value] : command.proxy_environment) {
    const std::string name = RouteOf(value);
    const auto route = std::find_if(command.routes.begin(), command.routes.end(),
                                    [&](const auto& other) { return other.name == name; });
    if (route == command.routes.end()) continue;
    const bool used = std::any_of(
        run.events.begin(), run.events.end(),
        [&](const schema::Event& event) { return event.endpoint.starts_with(route->upstream); });
    if (!used) unused.push_back(variable);
  }
  if (unused.empty()) return {.name = "variables", .text = "each one that was set brought calls"};
  return {.name = "variables",
          .health = Health::kNote,
          .text = "set, and no call came by it: " + Joined(unused),
          .way_out =
              "where the program does ask such a provider, its client reads another "
              "variable, or none"};
}

}  // namespace

std::vector<Check> CheckRun(const schema::RecordedRun& run) {
  std::vector<Check> checks;
  const std::optional<schema::RecordedCommand> command = schema::CommandOf(run.run);
  const std::optional<schema::Unobserved> unobserved = schema::UnobservedOf(run);
  if (unobserved) {
    checks.push_back(CheckConnections(*unobserved));
    checks.push_back(CheckPrograms(*unobserved));
  } else {
    checks.push_back({.name = "connections",
                      .health = Health::kNote,
                      .text = "nothing watched what went past the record: that is done by `reenact "
                              "record`, of this version on"});
  }
  const RunView view = ViewRun(run);
  checks.push_back(CheckTools(view));
  if (command) checks.push_back(CheckVariables(run, *command));
  checks.push_back({.name = "never seen",
                    .health = Health::kNote,
                    .text = "datagrams without a connection, raw sockets, system calls past libc, "
                            "files, pipes and shared memory"});
  return checks;
}

}  // namespace reenact::tools
