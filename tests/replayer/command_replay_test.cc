// A program of any language, recorded and run again: its clock frozen, its requests answered from
// the tape, its output compared.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "clock_shim/frozen_process.h"
#include "replayer/guarded_process.h"
#include "replayer/replay_runner.h"
#include "schema/recorded_command.h"

namespace reenact::replayer {
namespace {

constexpr char kAgent[] =
    "import datetime, json, os, time, urllib.request, uuid\n"
    "prompt = 'today is %s, draw %s' % (datetime.datetime.now(), uuid.uuid4())\n"
    "body = json.dumps({'model': 'm', 'messages': [{'role': 'user', 'content': prompt}]})\n"
    "time.sleep(0.05)\n"
    "request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions',\n"
    "    body.encode(), {'content-type': 'application/json'})\n"
    "if os.environ.get('DRY'): print(body)\n"
    "else: print(urllib.request.urlopen(request).read().decode(), time.time())\n";

// What `reenact record` leaves: here the call is put on the tape by hand, from what the program
// would have sent.
schema::RecordedRun Record(const std::vector<std::string>& argv, bool frozen = true) {
  schema::RecordedRun run;
  schema::RecordedCommand command;
  command.argv = argv;
  command.directory = "/";
  command.environment = {{"DRY", "1"}, {"OPENAI_API_KEY", "[redacted]"}};
  command.proxy_environment = {{"OPENAI_BASE_URL", "{proxy}/openai/v1"}};
  command.routes = {{"openai", "/openai", "https://api.openai.com"}};
  command.clock_frozen = frozen;
  run.run.id.bytes = {1, 2, 3};
  run.run.entry = schema::EntryOf(command);
  run.run.started = {1'779'271'200'000'000'000, 1};

  auto process = clock_shim::FrozenProcess::Record(/*random=*/true);
  EXPECT_TRUE(process.ok());
  const int output = memfd_create("output", MFD_CLOEXEC);
  CommandOptions options;
  options.argv = argv;
  options.set_environment = {{"DRY", "1"}, {"OPENAI_BASE_URL", "http://127.0.0.1:1/v1"}};
  if (frozen) {
    for (const auto& variable : (*process)->Environment())
      options.set_environment.push_back(variable);
  }
  options.standard_output = output;
  auto started = GuardedProcess::Start(options, false);
  EXPECT_TRUE(started.ok()) << started.status();
  EXPECT_TRUE((*started)->Wait(60'000));
  std::string printed(65536, '\0');
  const ssize_t size = pread(output, printed.data(), printed.size(), 0);
  printed.resize(size < 0 ? 0 : static_cast<size_t>(size));
  close(output);

  run.run.input.bytes = schema::EncodeCommand(command);
  if (frozen) run.components = (*process)->TakeTape();
  schema::RunEnd end;
  end.output.bytes = schema::EncodeCommandEnd({.standard_output = printed});
  run.end = end;
  run.state = schema::EndState::kComplete;
  return run;
}

// The same run, in which the program asked what it printed, and printed what it was answered.
void AddCall(schema::RecordedRun* run) {
  schema::CommandEnd end = *schema::DecodeCommandEnd(run->end->output.bytes);
  schema::Event event;
  event.sequence = 1;
  event.end_sequence = 2;
  event.boundary = schema::Boundary::kModel;
  event.name = "chat";
  event.provider = "openai";
  event.endpoint = "https://api.openai.com/v1/chat/completions";
  event.request.bytes = *end.standard_output;
  event.request.bytes.pop_back();
  event.response.bytes = "refund 120";
  event.end_state = schema::EndState::kComplete;
  schema::ExchangeItem head;
  head.kind = schema::ExchangeItemKind::kHead;
  head.status = 200;
  schema::ExchangeItem bytes;
  bytes.size = event.response.bytes.size();
  event.exchange = {head, bytes};
  run->events.push_back(event);
  schema::RecordedCommand command = *schema::CommandOf(run->run);
  command.environment[0].second = "";
  run->run.input.bytes = schema::EncodeCommand(command);
  run->end.reset();  // What it would have printed is not known here.
}

RunnerResult Replay(const schema::RecordedRun& run, RunnerOptions options = {}) {
  options.timeout_ms = 60'000;
  auto result = RunReplay(run, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : RunnerResult();
}

std::string Relaxed(const RunnerResult& result) {
  std::string all;
  for (const std::string& reason : result.report.relaxed_by) all += reason + "; ";
  for (const Divergence& divergence : result.report.divergences)
    all += MessageOf(divergence) + "; ";
  return all;
}

// cases/replay.md 10
TEST(CommandReplay, DateUuidAndOutputAreWhatTheyWere) {
  const schema::RecordedRun run = Record({REENACT_PYTHON, "-c", kAgent});
  const RunnerResult result = Replay(run);
  EXPECT_EQ(result.verdict, Verdict::kReproduced) << Relaxed(result);
  EXPECT_EQ(result.report.level, FidelityLevel::kR2) << Relaxed(result);
  EXPECT_TRUE(result.report.output_equal);
  EXPECT_EQ(result.network.refused, 0);
}

TEST(CommandReplay, APromptWithTheDateFindsItsRecord) {
  schema::RecordedRun run = Record({REENACT_PYTHON, "-c", kAgent});
  AddCall(&run);
  const RunnerResult result = Replay(run);
  EXPECT_EQ(result.report.calls_served, 1) << Relaxed(result);
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_TRUE(result.report.divergences.empty()) << Relaxed(result);
  EXPECT_EQ(result.network.refused, 0);
}

TEST(CommandReplay, AnotherOutputIsADivergence) {
  const schema::RecordedRun run = Record({REENACT_PYTHON, "-c", "print('refund 120')"});
  const RunnerResult result = Replay(run, {.argv = {REENACT_PYTHON, "-c", "print('refund 1200')"}});
  EXPECT_EQ(result.verdict, Verdict::kDiverged);
  ASSERT_FALSE(result.report.divergences.empty());
  EXPECT_EQ(result.report.divergences[0].kind, DivergenceKind::kOutput);
}

// Exit code 3: it is equal, and that says nothing of a clock that nobody froze.
TEST(CommandReplay, AStaticProgramIsNotFrozenAndSaysSo) {
  const RunnerResult result = Replay(Record({REENACT_STATIC_PROGRAM, "static"}));
  EXPECT_NE(result.verdict, Verdict::kReproduced);
  EXPECT_LE(result.report.level, FidelityLevel::kR1);
  EXPECT_NE(Relaxed(result).find("clock not frozen"), std::string::npos) << Relaxed(result);
  EXPECT_NE(Relaxed(result).find("statically linked"), std::string::npos) << Relaxed(result);
}

TEST(CommandReplay, ARunRecordedWithoutTheShimIsInconclusive) {
  const RunnerResult result =
      Replay(Record({REENACT_PYTHON, "-c", "print('refund 120')"}, /*frozen=*/false));
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_LE(result.report.level, FidelityLevel::kR1);
}

}  // namespace
}  // namespace reenact::replayer
