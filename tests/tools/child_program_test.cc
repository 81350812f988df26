// Programs of /bin/sh as children. What is captured is passed on, too: these tests print a little.

#include "tools/reenact/record/child_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace reenact::tools {
namespace {

const schema::Tags kEnvironment = {{"PATH", "/usr/bin:/bin"}, {"GREETING", "hello"}};

absl::StatusOr<schema::CommandEnd> RunProgram(std::vector<std::string> argv, bool capture = true) {
  const ForwardedSignals signals;
  return RunChild({std::move(argv), kEnvironment, capture}, signals);
}

absl::StatusOr<schema::CommandEnd> RunScript(const std::string& script, bool capture = true) {
  return RunProgram({"sh", "-c", script}, capture);
}

TEST(ChildProgram, ItsStatusAndItsOutputAreTold) {
  const auto end = RunScript("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_status, 3);
  EXPECT_EQ(end->signal, 0);
  EXPECT_EQ(end->standard_output, "out\n");
  EXPECT_EQ(end->standard_error, "err\n");
}

TEST(ChildProgram, ItsEnvironmentIsTheOneThatIsGiven) {
  setenv("REENACT_TEST_LEAK", "1", 1);
  const auto end = RunScript("echo \"$GREETING $REENACT_TEST_LEAK\"");
  unsetenv("REENACT_TEST_LEAK");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->standard_output, "hello \n");
}

TEST(ChildProgram, NothingIsKeptUnlessAsked) {
  const auto end = RunScript("echo shown", /*capture=*/false);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->standard_output, std::nullopt);
  EXPECT_EQ(end->standard_error, std::nullopt);
}

TEST(ChildProgram, TheSignalThatEndedItIsTold) {
  const auto end = RunScript("kill -KILL $$");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->signal, SIGKILL);
}

TEST(ChildProgram, WhatDoesNotStartSaysWhy) {
  EXPECT_TRUE(absl::IsNotFound(RunProgram({"no-such-program-here"}).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(RunProgram({"/etc/hostname"}).status()));
}

// Passed on, and not kept: the half of an output would pass for all of it.
TEST(ChildProgram, LongOutputIsNotKept) {
  const int shown = dup(STDERR_FILENO);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDERR_FILENO);
  const auto end = RunScript("head -c 300000 /dev/zero >&2");
  dup2(shown, STDERR_FILENO);
  close(shown);
  close(nowhere);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->standard_error, std::nullopt);
  EXPECT_EQ(end->standard_output, "");
}

// A daemon that it leaves behind holds its output open, and is not waited for.
TEST(ChildProgram, WhatItLeavesBehindIsNotWaitedFor) {
  const auto end = RunScript("sleep 60 & echo $!");
  ASSERT_TRUE(end.ok()) << end.status();
  ASSERT_TRUE(end->standard_output);
  const int pid = std::stoi(*end->standard_output);
  EXPECT_EQ(kill(pid, SIGKILL), 0);  // It still ran.
}

TEST(ChildProgram, ASignalToUsIsPassedOn) {
  const auto end = RunScript("trap 'exit 7' TERM; kill -TERM $PPID; while :; do :; done");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_status, 7);
}

TEST(OutputOf, IsWhatASuccessfulProgramPrints) {
  EXPECT_EQ(OutputOf({"sh", "-c", "echo a; echo b >&2"}), "a\n");
  EXPECT_EQ(OutputOf({"sh", "-c", "echo a; exit 1"}), std::nullopt);
  EXPECT_EQ(OutputOf({"no-such-program-here"}), std::nullopt);
}

}  // namespace
}  // namespace reenact::tools
