// Every socket call that the SDK makes in replay mode fails in turn, or is interrupted, or
// transfers a single byte. Nothing becomes live, and nothing that only is slow diverges.

#include <dlfcn.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "tests/recorder/fake_replayer.h"
#include "tests/recorder/recorder_fixture.h"

namespace {

enum class Fault { kNone, kFail, kInterrupt, kShort };

// Of this thread only: the replayer in the same process is not to be disturbed.
thread_local Fault t_fault = Fault::kNone;
thread_local long t_at = 0;
thread_local long t_seen = 0;

// True when this call is the one, or from the one on.
bool IsFaulty(Fault kind) noexcept {
  if (t_fault != kind) return false;
  return kind == Fault::kShort || (kind == Fault::kInterrupt ? t_seen == t_at : t_seen >= t_at);
}

template <class Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool Faulted() noexcept {
  ++t_seen;
  if (IsFaulty(Fault::kFail)) {
    errno = ECONNRESET;
    return true;
  }
  if (IsFaulty(Fault::kInterrupt)) {
    errno = EINTR;
    return true;
  }
  return false;
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) {
  static const auto real = Real<int (*)(int, int, int)>("socket");
  ++t_seen;
  if (IsFaulty(Fault::kFail)) {
    errno = EMFILE;
    return -1;
  }
  return real(domain, type, protocol);
}

int connect(int fd, const sockaddr* address, socklen_t size) {
  static const auto real = Real<int (*)(int, const sockaddr*, socklen_t)>("connect");
  if (Faulted()) return -1;
  return real(fd, address, size);
}

ssize_t send(int fd, const void* data, size_t size, int flags) {
  static const auto real = Real<ssize_t (*)(int, const void*, size_t, int)>("send");
  if (Faulted()) return -1;
  return real(fd, data, IsFaulty(Fault::kShort) ? 1 : size, flags);
}

ssize_t recv(int fd, void* data, size_t size, int flags) {
  static const auto real = Real<ssize_t (*)(int, void*, size_t, int)>("recv");
  if (Faulted()) return -1;
  return real(fd, data, IsFaulty(Fault::kShort) ? 1 : size, flags);
}

}  // extern "C"

namespace reenact::testing {
namespace {

struct Pass {
  long socket_calls = 0;
  int live = 0;
  int on_tape = 0;
};

class SocketFault : public RecorderTest {
 protected:
  Pass RunOnce(Fault fault, long at) {
    Pass pass;
    t_fault = fault;
    t_at = at;
    t_seen = 0;
    auto options = Sized<reenact_options>();
    options.mode = REENACT_MODE_REPLAY;
    options.replay_socket = B(replayer_.path());
    reenact_recorder* recorder = nullptr;
    reenact_open(&options, &recorder);
    EXPECT_NE(recorder, nullptr);
    auto info = Sized<reenact_run_info>();
    reenact_scope* run = nullptr;
    reenact_run_begin(recorder, &info, &run);
    for (int i = 0; i < 2; ++i) {
      reenact_call* call = nullptr;
      const reenact_call_info tool = ToolCall("t", "{}");
      const reenact_disposition disposition = reenact_call_begin(run, &tool, &call);
      if (disposition == REENACT_LIVE) ++pass.live;
      if (disposition == REENACT_ON_TAPE) ++pass.on_tape;
      reenact_call_end(call, REENACT_END_COMPLETE, nullptr);
    }
    int64_t now = 0;
    reenact_now(run, B("t"), &now);
    reenact_run_end(run, REENACT_END_COMPLETE, {}, {});
    reenact_close(recorder, kPatienceMs);
    pass.socket_calls = t_seen;
    t_fault = Fault::kNone;
    return pass;
  }

  FakeReplayer replayer_{folder_.File("socket"), ServeEverything};
};

TEST_F(SocketFault, EveryFailureDiverges) {
  const Pass clean = RunOnce(Fault::kNone, 0);
  ASSERT_EQ(clean.on_tape, 2);
  ASSERT_GT(clean.socket_calls, 20);
  bool any_lost = false;
  for (long at = 1; at <= clean.socket_calls; ++at) {
    const Pass pass = RunOnce(Fault::kFail, at);
    EXPECT_EQ(pass.live, 0) << "socket call " << at;
    any_lost = any_lost || pass.on_tape < 2;
  }
  EXPECT_TRUE(any_lost);
}

TEST_F(SocketFault, EveryInterruptionIsOvercome) {
  const Pass clean = RunOnce(Fault::kNone, 0);
  for (long at = 2; at <= clean.socket_calls; ++at) {
    EXPECT_EQ(RunOnce(Fault::kInterrupt, at).on_tape, 2) << "socket call " << at;
  }
}

TEST_F(SocketFault, BytesOneByOneAreTheSameBytes) {
  EXPECT_EQ(RunOnce(Fault::kShort, 0).on_tape, 2);
}

}  // namespace
}  // namespace reenact::testing
