// What a run from elsewhere says of its command and its clock, before anything of it is started: a
// command that was read is written as it was read, and a tape of the clock has an end.

#include "clock_shim/tape_layout.h"
#include "schema/recorded_command.h"
#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz::recorded_command {
namespace {

using schema::RecordedCommand;

void CheckCommand(std::string_view bytes) {
  schema::Run run;
  run.input.bytes = bytes;
  run.entry = "exec node agent.mjs";
  const std::optional<RecordedCommand> command = schema::CommandOf(run);
  if (!command) return;
  Reached();
  run.input.bytes = schema::EncodeCommand(*command);
  run.entry = schema::EntryOf(*command);
  if (schema::CommandOf(run) != command) Broken("a command that changes when it is written");
}

void CheckEnd(std::string_view bytes) {
  const std::optional<schema::CommandEnd> end = schema::DecodeCommandEnd(bytes);
  if (!end) return;
  Reached();
  if (schema::DecodeCommandEnd(schema::EncodeCommandEnd(*end)) != end) {
    Broken("an end that changes when it is written");
  }
}

void CheckTape(std::string_view bytes) {
  const auto* const tape = reinterpret_cast<const uint8_t*>(bytes.data());
  clock_shim::TapeRead read;
  for (size_t at = 0; at < bytes.size();) {
    const size_t size = clock_shim::DecodeRead(tape + at, bytes.size() - at, &read);
    if (size > bytes.size() - at) Broken("a read behind the end of the tape");
    if (size == 0) return;
    at += size;
  }
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  CheckCommand(bytes);
  CheckEnd(bytes);
  CheckTape(bytes);
}

std::vector<std::string> Seeds() {
  RecordedCommand command;
  command.argv = {"/usr/bin/node", "agent.mjs", "--name=\xff"};
  command.directory = "/srv/agent";
  command.environment = {{"HOME", "/root"}, schema::CommandVariable("OPENAI_API_KEY", "sk-1")};
  command.proxy_environment = {{"OPENAI_BASE_URL", "{proxy}/openai/v1"}};
  command.routes = {{"openai", "/openai", "https://api.openai.com", "/v1"}};
  command.git_commit = "0123456789abcdef";
  command.clock_frozen = command.stdout_captured = true;
  schema::CommandEnd end;
  end.exit_status = 3;
  end.standard_output = "line\n\xc3\x28";
  return {schema::EncodeCommand(command), schema::EncodeCommand({}), schema::EncodeCommandEnd(end),
          "\x81\x80\x01\x02\x04\x06"};
}

std::vector<std::string> Tokens() {
  return {"\"argv\":", "\"routes\":", "\"environment\":", "null",    "[",  "]",   "{",   "}",
          ",",         "\"",          "\\u0000",          "\\ud800", "-1", "1e9", "true"};
}

const bool added = AddTarget({"recorded_command", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::recorded_command
