// The network guard, with a static binary that makes bare system calls.

#include "replayer/guarded_process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace reenact::replayer {
namespace {

constexpr int64_t kLongMs = 30'000;

// A listening socket on loopback, on a port that the kernel chose.
class LocalListener {
 public:
  LocalListener() {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }

  ~LocalListener() { close(fd_); }

  std::string port() const { return std::to_string(port_); }

 private:
  int fd_ = -1;
  uint16_t port_ = 0;
};

struct Outcome {
  int error = -1;  // What the program's call failed with; 0 when it did not.
  int status = 0;
  GuardReport report;
};

Outcome Dial(const std::vector<std::string>& way, bool guard = true) {
  CommandOptions options;
  options.argv = {REENACT_DIAL};
  options.argv.insert(options.argv.end(), way.begin(), way.end());
  options.guard = guard;
  auto process = GuardedProcess::Start(options, guard);
  EXPECT_TRUE(process.ok()) << process.status();
  if (!process.ok()) return {};
  EXPECT_TRUE((*process)->Wait(kLongMs));
  Outcome outcome;
  outcome.status = (*process)->status();
  if (WIFEXITED(outcome.status)) outcome.error = WEXITSTATUS(outcome.status);
  outcome.report = (*process)->report();
  return outcome;
}

class GuardedProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    auto process = GuardedProcess::Start({.argv = {REENACT_DIAL, "unharmed"}}, true);
    if (!process.ok()) GTEST_SKIP() << "this kernel does not let us: " << process.status();
  }
};

struct Way {
  const char* name;
  int error;
  const char* call;
  const char* address;
};

TEST_F(GuardedProcessTest, EveryWayOutIsRefusedAndCountedOnce) {
  for (const Way& way : std::vector<Way>{
           {"tcp", ENETUNREACH, "connect", "203.0.113.7:443"},
           {"tcp6", ENETUNREACH, "connect", "[2001:db8::1]:443"},
           {"mapped", ENETUNREACH, "connect", "[::ffff:203.0.113.7]:443"},
           {"udp", ENETUNREACH, "connect", "203.0.113.7:443"},
           {"sendto", ENETUNREACH, "sendto", "203.0.113.7:443"},
           {"unspecified-sendto", ENETUNREACH, "sendto", "203.0.113.7:443"},
           {"sendmsg", ENETUNREACH, "sendmsg", "203.0.113.7:443"},
           {"sendmmsg", ENETUNREACH, "sendmmsg", "203.0.113.7:443"},
           {"raw", EPERM, "socket(SOCK_RAW)", ""},
           {"packet", EPERM, "socket(AF_PACKET)", ""},
           {"sctp", EPERM, "socket(IPPROTO_SCTP)", ""},
           {"unreadable", ENETUNREACH, "connect", "an address that cannot be read"},
           {"child", ENETUNREACH, "connect", "203.0.113.7:443"},
       }) {
    SCOPED_TRACE(way.name);
    const Outcome outcome = Dial({way.name});
    EXPECT_TRUE(outcome.report.guarded);
    EXPECT_EQ(outcome.error, way.error);
    EXPECT_EQ(outcome.report.refused, 1);
    ASSERT_EQ(outcome.report.attempts.size(), 1u);
    EXPECT_EQ(outcome.report.attempts[0].call, way.call);
    EXPECT_EQ(outcome.report.attempts[0].address, way.address);
    EXPECT_GT(outcome.report.attempts[0].pid, 0);
  }
}

TEST_F(GuardedProcessTest, LoopbackGoesThroughAndIsCounted) {
  const LocalListener listener;
  for (const char* way : {"local", "local-mapped", "any"}) {
    SCOPED_TRACE(way);
    const Outcome outcome = Dial({way, listener.port()});
    EXPECT_EQ(outcome.error, 0);
    EXPECT_EQ(outcome.report.loopback, 1);
    EXPECT_EQ(outcome.report.refused, 0);
  }
}

TEST_F(GuardedProcessTest, LocalSocketsAreLeftAlone) {
  const Outcome outcome = Dial({"unharmed"});
  EXPECT_EQ(outcome.error, 0);
  EXPECT_EQ(outcome.report.refused, 0);
  EXPECT_EQ(outcome.report.loopback, 0);
}

// A resolver asks for its own address by connecting a datagram socket to port 0.
TEST_F(GuardedProcessTest, DatagramConnectToPortZeroIsRefusedAndNotCounted) {
  const Outcome outcome = Dial({"udp", "0"});
  EXPECT_EQ(outcome.error, ENETUNREACH);
  EXPECT_EQ(outcome.report.refused, 0);
  EXPECT_EQ(Dial({"tcp", "0"}).report.refused, 1);
}

TEST_F(GuardedProcessTest, IoUringIsNotThere) {
  const Outcome outcome = Dial({"iouring"});
  EXPECT_EQ(outcome.error, ENOSYS);
  EXPECT_EQ(outcome.report.refused, 0);
}

TEST_F(GuardedProcessTest, CallsOfAnotherArchitectureKill) {
#if defined(__x86_64__)
  const Outcome x32 = Dial({"x32"});
  ASSERT_TRUE(WIFSIGNALED(x32.status));
  EXPECT_EQ(WTERMSIG(x32.status), SIGSYS);
  const Outcome compat = Dial({"compat"});
  ASSERT_TRUE(WIFSIGNALED(compat.status));
  // A kernel without 32-bit calls has no such gate, and says so with SIGSEGV.
  EXPECT_TRUE(WTERMSIG(compat.status) == SIGSYS || WTERMSIG(compat.status) == SIGSEGV);
#else
  GTEST_SKIP() << "there is no 32-bit gate to try";
#endif
}

TEST_F(GuardedProcessTest, SignalsDoNotMakeOneAttemptTwo) {
  for (int round = 0; round < 20; ++round) {
    const Outcome outcome = Dial({"signals"});
    EXPECT_EQ(outcome.error, ENETUNREACH);
    EXPECT_EQ(outcome.report.refused, 1);
  }
}

TEST_F(GuardedProcessTest, OrdinaryUserIsGuardedToo) {
  if (geteuid() != 0) GTEST_SKIP() << "all other tests run as an ordinary user already";
  // The build folder may be closed to others: run a copy.
  std::string folder = std::filesystem::temp_directory_path() / "reenact-dial-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  const std::string copy = folder + "/dial";
  std::filesystem::copy_file(REENACT_DIAL, copy);
  ASSERT_EQ(chmod(copy.c_str(), 0755), 0);
  constexpr uid_t kNobody = 65534;
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(2);
    auto process = GuardedProcess::Start({.argv = {copy, "tcp"}}, true);
    if (!process.ok()) _exit(3);
    if (!(*process)->Wait(kLongMs)) _exit(4);
    const GuardReport report = (*process)->report();
    _exit(report.guarded && report.refused == 1 && report.attempts[0].address != "" ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(GuardedProcessTest, StopEndsAProgramThatIsBeingAnsweredAndItsChildren) {
  for (int round = 0; round < 10; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    auto process = GuardedProcess::Start({.argv = {REENACT_DIAL, "dies-calling"}}, true);
    ASSERT_TRUE(process.ok());
    close(pipe_ends[1]);
    while ((*process)->report().refused == 0) std::this_thread::yield();
    (*process)->Stop(round % 2 == 0 ? 0 : 1'000);
    EXPECT_TRUE(WIFSIGNALED((*process)->status()));
    process->reset();
    // Program and child inherited the writing end; it closes when both are dead.
    char byte = 0;
    EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);
    close(pipe_ends[0]);
  }
}

TEST(GuardedProcess, DiesWithItsParent) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto process = GuardedProcess::Start({.argv = {REENACT_DIAL, "hang"}}, false);
    if (!process.ok()) _exit(1);
    raise(SIGKILL);
  }
  close(pipe_ends[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  // The hanging program inherited the writing end; it closes when the program is dead.
  char byte = 0;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);
  close(pipe_ends[0]);
}

TEST(GuardedProcess, UnguardedSaysSo) {
  const Outcome outcome = Dial({"unharmed"}, false);
  EXPECT_EQ(outcome.error, 0);
  EXPECT_FALSE(outcome.report.guarded);
  EXPECT_FALSE(outcome.report.why_not.empty());
}

TEST(GuardedProcess, MissingProgramIsNotFound) {
  for (const char* name : {"/nonexistent/program", "reenact-no-such-program", "", "/dev/null/x"}) {
    const auto process = GuardedProcess::Start({.argv = {name}}, false);
    EXPECT_EQ(process.status().code(), absl::StatusCode::kNotFound) << process.status();
  }
  EXPECT_EQ(GuardedProcess::Start({}, false).status().code(), absl::StatusCode::kNotFound);
}

TEST(GuardedProcess, WhatCannotBeAProgramIsRefusedNotInconclusive) {
  const std::string script = testing::TempDir() + "no_interpreter_" + std::to_string(getpid());
  std::ofstream(script) << "neither a script nor an executable\n";
  chmod(script.c_str(), 0755);
  const std::string text = testing::TempDir() + "not_executable_" + std::to_string(getpid());
  std::ofstream(text) << "text\n";
  chmod(text.c_str(), 0644);
  for (const std::string& name : {std::string("/"), std::string("/dev/null"), script, text}) {
    const auto process = GuardedProcess::Start({.argv = {name}}, false);
    EXPECT_EQ(process.status().code(), absl::StatusCode::kInvalidArgument) << process.status();
    EXPECT_NE(std::string(process.status().message()).find(name), std::string::npos);
  }
  unlink(script.c_str());
  unlink(text.c_str());
}

TEST(GuardedProcess, EnvironmentIsInheritedAndSet) {
  CommandOptions options;
  options.argv = {"sh", "-c", "test \"$REENACT_MODE\" = replay && test -n \"$PATH\""};
  options.set_environment = {{"REENACT_MODE", "replay"}};
  auto process = GuardedProcess::Start(options, false);
  ASSERT_TRUE(process.ok());
  EXPECT_TRUE((*process)->Wait(kLongMs));
  EXPECT_EQ((*process)->status(), 0);
}

TEST(GuardedProcess, WaitGivesUp) {
  auto process = GuardedProcess::Start({.argv = {REENACT_DIAL, "hang"}}, false);
  ASSERT_TRUE(process.ok());
  EXPECT_FALSE((*process)->Wait(1));
  (*process)->Stop(kLongMs);
  EXPECT_EQ(WTERMSIG((*process)->status()), SIGTERM);
}

}  // namespace
}  // namespace reenact::replayer
