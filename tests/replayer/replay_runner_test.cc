// Whole replays of a program in a process of its own.

#include "replayer/replay_runner.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "replayer/internal/drive.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

constexpr char kRequest[] = R"({"model":"m","messages":[]})";

schema::RecordedRun Tape() {
  TapeBuilder tape;
  tape.Model(kRequest, "A");
  return tape.run();
}

RunnerResult Replay(const std::vector<std::string>& arguments, RunnerOptions options = {}) {
  options.argv = {REENACT_REPLAY_PROGRAM};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  auto result = RunReplay(Tape(), options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : RunnerResult();
}

// A port that nobody listens on.
std::string FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return std::to_string(ntohs(address.sin_port));
}

TEST(ReplayRunner, ProgramThatStartsItsRunItselfIsReproduced) {
  const RunnerResult result = Replay({"self"});
  EXPECT_EQ(result.verdict, Verdict::kReproduced) << Kinds(result.report);
  EXPECT_EQ(result.network.refused, 0);
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.report.level, result.network.guarded ? FidelityLevel::kR2 : FidelityLevel::kR1);
  EXPECT_GT(result.elapsed_ns, 0);
}

TEST(ReplayRunner, RegisteredHandlerIsDrivenAndItsServiceStopped) {
  const RunnerResult result = Replay({"handler"});
  EXPECT_EQ(result.verdict, Verdict::kReproduced) << Kinds(result.report);
  EXPECT_TRUE(WIFSIGNALED(result.exit_status));
}

TEST(ReplayRunner, RecordedInputIsSentToTheService) {
  const std::string port = FreePort();
  const RunnerResult result = Replay({"service", port}, {.drive_url = "http://127.0.0.1:" + port});
  EXPECT_EQ(result.verdict, Verdict::kReproduced) << Kinds(result.report) << result.note;
  EXPECT_EQ(result.report.refused_runs, 1);  // Its health check.
  EXPECT_EQ(result.network.refused, 0);
}

TEST(ReplayRunner, ServiceThatRefusesTheInputIsInconclusive) {
  const std::string port = FreePort();
  const RunnerResult result =
      Replay({"service-401", port}, {.drive_url = "http://127.0.0.1:" + port});
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(Contains(result.note, "status 401")) << result.note;
}

TEST(ReplayRunner, InputIsNeverSentToWhoListenedBefore) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 16), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  RunnerOptions options;
  options.argv = {REENACT_REPLAY_PROGRAM, "nothing"};
  options.drive_url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const auto result = RunReplay(Tape(), options);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition) << result.status();
  close(listener);
}

TEST(ReplayRunner, AServiceThatNeverListensIsNamedWithItsUrl) {
  RunnerOptions options;
  options.argv = {"/bin/sleep", "30"};
  options.drive_url = "http://127.0.0.1:" + FreePort();
  options.timeout_ms = 700;
  const auto result = RunReplay(Tape(), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->verdict, Verdict::kInconclusive);
  EXPECT_TRUE(Contains(result->note, "nothing listened at " + options.drive_url)) << result->note;
}

// cases/reports.md 70
TEST(ReplayRunner, InputThatWasCutIsNeverSent) {
  schema::RecordedRun tape = Tape();
  tape.run.input.cut = true;
  tape.run.input.original_size = 5'400'000;
  RunnerOptions options;
  options.argv = {REENACT_REPLAY_PROGRAM, "nothing"};
  options.drive_url = "http://127.0.0.1:" + FreePort();
  const absl::Status refused = RunReplay(tape, options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(
      Contains(std::string(refused.message()), "the recorded input was cut at 16 of 5400000 bytes"))
      << refused;
}

// reports.md 20, 29: an attempt outside every seam is refused and counted.
TEST(ReplayRunner, OutboundAttemptIsRefusedCountedAndADivergence) {
  const RunnerResult result = Replay({"dial"});
  if (!result.network.guarded) GTEST_SKIP() << "no guard here: " << result.network.why_not;
  EXPECT_EQ(result.network.refused, 1);
  EXPECT_EQ(Kinds(result.report), "network");
  EXPECT_EQ(result.verdict, Verdict::kDiverged);
  EXPECT_EQ(result.report.level, FidelityLevel::kR1);
  EXPECT_TRUE(Contains(MessageOf(result.report.divergences[0]), "connect to 203.0.113.7:443"))
      << MessageOf(result.report.divergences[0]);
}

TEST(ReplayRunner, NovelCallIsDivergence) {
  const RunnerResult result = Replay({"novel"});
  EXPECT_EQ(Kinds(result.report), "novel_call omitted_call");
  EXPECT_EQ(result.verdict, Verdict::kDiverged);
}

TEST(ReplayRunner, CrashIsDivergenceThatNamesTheSignal) {
  const RunnerResult result = Replay({"crash"});
  const Divergence* process = Find(result.report, DivergenceKind::kProcess);
  ASSERT_NE(process, nullptr) << Kinds(result.report);
  EXPECT_TRUE(Contains(process->summary, "SIGABRT before its run ended")) << process->summary;
  EXPECT_EQ(result.verdict, Verdict::kDiverged);
}

TEST(ReplayRunner, ExitInTheMiddleIsDivergence) {
  const RunnerResult result = Replay({"exit"});
  const Divergence* process = Find(result.report, DivergenceKind::kProcess);
  ASSERT_NE(process, nullptr) << Kinds(result.report);
  EXPECT_TRUE(Contains(process->summary, "exited with status 7"));
}

TEST(ReplayRunner, ExitStatusAfterTheRunIsANoteOnly) {
  const RunnerResult result = Replay({"status"});
  EXPECT_EQ(result.verdict, Verdict::kReproduced) << Kinds(result.report);
  ASSERT_FALSE(result.report.notes.empty());
  EXPECT_TRUE(Contains(result.report.notes[0], "exited with status 3"));
}

// cases/replay.md 25
TEST(ReplayRunner, ProgramThatNeverBeginsTheRunIsInconclusive) {
  const RunnerResult result = Replay({"nothing"});
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(result.note.starts_with("the program ended before it began the run")) << result.note;
  // What to do about it, for either kind of program.
  EXPECT_TRUE(Contains(result.note, "must stay up until it is told to end (SIGTERM)"))
      << result.note;
  EXPECT_TRUE(Contains(result.note, "must begin that run itself")) << result.note;
  EXPECT_EQ(result.report.level, FidelityLevel::kR0);
}

TEST(ReplayRunner, TimeoutIsInconclusiveAndBlamesNothingThatWasNotReached) {
  for (const char* way : {"hang", "handler-hang"}) {
    const RunnerResult result = Replay({way}, {.timeout_ms = 300});
    EXPECT_EQ(result.verdict, Verdict::kInconclusive);
    EXPECT_TRUE(Contains(result.note, "timeout")) << result.note;
    EXPECT_EQ(Kinds(result.report), "");
    EXPECT_EQ(result.report.level, FidelityLevel::kR0);
  }
}

TEST(ReplayRunner, DerivedRunNamesItsParentLevelAndVerdict) {
  const RunnerResult result = Replay({"self"});
  const schema::RecordedRun& derived = result.report.derived;
  EXPECT_EQ(derived.run.parent, Tape().run.id);
  EXPECT_NE(derived.run.id, derived.run.parent);
  EXPECT_EQ(derived.run.origin, schema::RunOrigin::kReplay);
  ASSERT_EQ(derived.events.size(), 1u);
  EXPECT_EQ(derived.events[0].response.bytes, "A");
  EXPECT_EQ(derived.events[0].run, derived.run.id);
  const schema::Tags& tags = derived.run.tags;
  const auto has = [&](const std::string& name, const std::string& value) {
    return std::find(tags.begin(), tags.end(), std::make_pair(name, value)) != tags.end();
  };
  EXPECT_TRUE(has("reenact.verdict", "reproduced"));
  EXPECT_TRUE(has("reenact.level", result.network.guarded ? "R2" : "R1"));
}

TEST(PlanDrive, OnlyThisMachineIsDriven) {
  schema::Run run;
  run.entry = "POST /refund?fast=1";
  run.input.bytes = "{}";
  for (const char* url : {"http://127.0.0.1:8080", "http://127.9.9.9/", "http://localhost:1",
                          "http://[::1]:8080", "https://127.0.0.1"}) {
    EXPECT_TRUE(PlanDrive(url, run).ok()) << url;
  }
  for (const char* url :
       {"http://example.com", "http://203.0.113.7:80", "http://127.0.0.1.example.com",
        "http://127.0.0.1@203.0.113.7/", "file:///etc/passwd", "ftp://127.0.0.1/", "http://[::2]/",
        "", "nonsense"}) {
    EXPECT_EQ(PlanDrive(url, run).status().code(), absl::StatusCode::kInvalidArgument) << url;
  }
}

TEST(PlanDrive, EntryGivesMethodAndPathAndTagsTheContentType) {
  schema::Run run;
  run.entry = "PUT /orders?id=7";
  run.input.bytes = "a=b";
  run.tags = {{"Content-Type", "application/x-www-form-urlencoded"}};
  const auto planned = PlanDrive("http://127.0.0.1:8080", run);
  ASSERT_TRUE(planned.ok());
  EXPECT_EQ(planned->method, "PUT");
  EXPECT_EQ(planned->url, "http://127.0.0.1:8080/orders?id=7");
  EXPECT_EQ(planned->body, "a=b");
  EXPECT_EQ(planned->content_type, "application/x-www-form-urlencoded");
  EXPECT_EQ(PlanDrive("http://127.0.0.1:8080/v2/orders", run)->url,
            "http://127.0.0.1:8080/v2/orders");
  run.entry = "main";
  EXPECT_EQ(PlanDrive("http://127.0.0.1:8080", run)->method, "POST");
}

}  // namespace
}  // namespace reenact::replayer
