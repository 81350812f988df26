// Both ways of telling a process from the children that it forked: the page that the kernel wipes,
// and what stands in where the kernel cannot.

#include "store/ring/internal/fork_guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "store/ring/ring.h"
#include "tests/store/memory_folder.h"

namespace {

bool kernel_wipes = true;

}  // namespace

// The linker sends the library's calls here.
extern "C" int __real_madvise(void* address, size_t size, int advice);

extern "C" int __wrap_madvise(void* address, size_t size, int advice) {
  if (advice != MADV_WIPEONFORK || kernel_wipes) return __real_madvise(address, size, advice);
  errno = EINVAL;
  return -1;
}

namespace reenact::store {
namespace {

int StatusOf(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int InChild(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  return StatusOf(child);
}

// Its parameter: whether the kernel wipes.
class ForkGuardTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { kernel_wipes = GetParam(); }

  void TearDown() override { kernel_wipes = true; }
};

TEST_P(ForkGuardTest, EveryDescendantIsAChildAndTheProcessItselfIsNot) {
  const ForkGuard guard;
  EXPECT_FALSE(guard.InForkedChild());
  EXPECT_EQ(InChild([&] {
              const ForkGuard own;
              const auto grandchild = [&] { return own.InForkedChild() && guard.InForkedChild(); };
              return guard.InForkedChild() && !own.InForkedChild() && InChild(grandchild) == 0 &&
                     !own.InForkedChild();
            }),
            0);
  EXPECT_FALSE(guard.InForkedChild());
}

TEST_P(ForkGuardTest, ARingRefusesTheChildAndServesTheParent) {
  const MemoryFolder folder;
  RingIdentity identity;
  identity.store_path = "/tmp/reenact-fork-guard-test";
  std::string why;
  auto ring = Ring::Create(identity, {}, 1, &why);
  ASSERT_NE(ring, nullptr) << why;
  const std::string_view piece = "record";
  DropReason reason = DropReason::kNone;
  EXPECT_NE(ring->Append(1, &piece, 1, &reason), 0u);
  EXPECT_EQ(InChild([&] {
              const bool refused = ring->Append(1, &piece, 1, &reason) == 0;
              ring.reset();
              return refused && reason == DropReason::kForkChild;
            }),
            0);
  EXPECT_NE(ring->Append(1, &piece, 1, &reason), 0u);
  std::vector<RingRecord> records;
  ring->Take(SIZE_MAX, SIZE_MAX, false, &records);
  EXPECT_EQ(records.size(), 2u);
  ring->Remove();
}

// Also shows that the parameter does something: no handler of libc runs at a bare system call.
TEST_P(ForkGuardTest, OnlyTheKernelSeesAForkThatGoesAroundLibc) {
  const ForkGuard guard;
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (child == 0) _exit(guard.InForkedChild() ? 1 : 0);
  EXPECT_EQ(StatusOf(child), GetParam() ? 1 : 0);
}

INSTANTIATE_TEST_SUITE_P(Kernel, ForkGuardTest, ::testing::Bool(), [](const auto& kernel) {
  return std::string(kernel.param ? "Wipes" : "DoesNotWipe");
});

}  // namespace
}  // namespace reenact::store
