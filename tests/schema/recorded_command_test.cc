#include "schema/recorded_command.h"

#include <gtest/gtest.h>

#include "schema/redaction.h"

namespace reenact::schema {
namespace {

RecordedCommand Agent() {
  RecordedCommand command;
  command.argv = {"/usr/bin/node", "--no-warnings", "src/agent.mjs", "a \"quoted\"\nword"};
  command.directory = "/srv/agent";
  command.environment = {{"LANG", "C.UTF-8"}, {"OPENAI_API_KEY", "[redacted]"}};
  command.proxy_environment = {{"OPENAI_BASE_URL", "{proxy}/openai/v1"}};
  command.routes = {{"openai", "/openai", "https://api.openai.com"},
                    {"anthropic", "/anthropic", "https://api.anthropic.com", "/v1"}};
  command.git_commit = "0123abc";
  command.git_dirty = true;
  command.clock_frozen = true;
  command.stdout_captured = true;
  return command;
}

schema::Run RunOf(const RecordedCommand& command) {
  schema::Run run;
  run.entry = EntryOf(command);
  run.input.bytes = EncodeCommand(command);
  return run;
}

TEST(RecordedCommand, ComesBackAsItWas) {
  EXPECT_EQ(CommandOf(RunOf(Agent())), Agent());
}

TEST(RecordedCommand, KeepsBytesThatAreNoText) {
  RecordedCommand command = Agent();
  command.argv.push_back(std::string("\xff\x00\x1b\xc3", 4));
  EXPECT_EQ(CommandOf(RunOf(command)), command);
}

TEST(RecordedCommand, SurvivesRedaction) {
  RecordedCommand command = Agent();
  command.environment.emplace_back("NOTE", "sk-proj-abcdefghijklmnopqrstuvwxyz012345");
  schema::Run run = RunOf(command);
  run.input.bytes = RedactBody(run.input.bytes, RedactionPolicy()).bytes;
  EXPECT_EQ(run.input.bytes.find("abcdefghijklmnop"), std::string::npos);
  command.environment.back().second = "[redacted]";
  EXPECT_EQ(CommandOf(run), command);
}

TEST(RecordedCommand, OtherRunsAreNoCommands) {
  schema::Run run = RunOf(Agent());
  run.entry = "POST /refund";
  EXPECT_FALSE(CommandOf(run));
  run = RunOf(Agent());
  run.input.cut = true;
  EXPECT_FALSE(CommandOf(run));
  run = RunOf(Agent());
  run.input.bytes.resize(run.input.bytes.size() / 2);
  EXPECT_FALSE(CommandOf(run));
  run.input.bytes = R"({"argv":["node"]})";
  EXPECT_FALSE(CommandOf(run));
}

TEST(RecordedCommand, IsNamedByProgramAndScript) {
  EXPECT_EQ(EntryOf(Agent()), "exec node agent.mjs");
  RecordedCommand command;
  command.argv = {"./bin/refund", "start"};
  EXPECT_EQ(EntryOf(command), "exec refund");
  command.argv = {"python3", "-u", "tools/agent.py"};
  EXPECT_EQ(EntryOf(command), "exec python3 agent.py");
}

TEST(RecordedCommand, IsNotNamedByAPieceOfItsCode) {
  const std::vector<std::vector<std::string>> commands = {
      {"bash", "-c", "curl http://x/v1/chat | head"},
      {"sh", "-lc", "./a.sh"},
      {"python3", "-Ic", "import a.b"},
      {"node", "--eval", "require('./a.js')"},
      {"perl", "-ne", "print if /a.b/"}};
  for (const std::vector<std::string>& argv : commands) {
    RecordedCommand command;
    command.argv = argv;
    EXPECT_EQ(EntryOf(command), "exec " + argv[0]) << argv[1];
  }
}

TEST(RecordedCommand, EndComesBackAsItWas) {
  CommandEnd end;
  end.exit_status = 3;
  end.standard_output = "line\n\x80";
  EXPECT_EQ(DecodeCommandEnd(EncodeCommandEnd(end)), end);
  end.standard_output.reset();
  end.standard_error = "";
  EXPECT_EQ(DecodeCommandEnd(EncodeCommandEnd(end)), end);
  EXPECT_FALSE(DecodeCommandEnd("refunded 120"));
}

TEST(RecordedCommand, AnEndOtherThanStatusZeroIsAnError) {
  EXPECT_EQ(EndStateOf({}).first, EndState::kComplete);
  EXPECT_EQ(EndStateOf({.exit_status = 3}).second, "exit status 3");
  EXPECT_EQ(EndStateOf({.signal = 9}), std::pair(EndState::kError, std::string("signal 9")));
}

// cases/replay.md 16
TEST(RecordedCommand, ValuesOfCredentialsAreNotKept) {
  for (const char* name : {"OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "MYSQL_PWD", "token",
                           "AWS_SECRET_ACCESS_KEY", "NPM_PAT", "SESSION_COOKIE"}) {
    EXPECT_EQ(CommandVariable(name, "hunter22").second, kRedactedMark) << name;
  }
  for (const char* name :
       {"PATH", "PWD", "OLDPWD", "MONKEY_PATCH", "LANG", "TOKENIZERS_PARALLELISM"}) {
    EXPECT_EQ(CommandVariable(name, "/srv").second, "/srv") << name;
  }
  EXPECT_EQ(CommandVariable("OPENAI_API_KEY", "").second, "");
}

TEST(RecordedCommand, CredentialsAmongTheArgumentsAreNotKept) {
  using Words = std::vector<std::string>;
  const std::string mark(kRedactedMark);
  EXPECT_EQ(CommandArguments(Words{"agent", "--token=hunter22", "--api-key", "hunter22", "x"}),
            (Words{"agent", "--token=" + mark, "--api-key", mark, "x"}));
  EXPECT_EQ(CommandArguments(Words{"env", "DB_PASSWORD=hunter22", "agent"}),
            (Words{"env", "DB_PASSWORD=" + mark, "agent"}));
  const Words plain = {"token",          "--sort-key", "name", "--token", "--verbose",
                       "--max-tokens=5", "-",          "--",   "",        "="};
  EXPECT_EQ(CommandArguments(plain), plain);
}

}  // namespace
}  // namespace reenact::schema
