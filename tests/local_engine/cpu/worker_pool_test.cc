#include "local_engine/cpu/worker_pool.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <atomic>
#include <cstddef>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/numerics/fp_environment.h"

namespace reenact::local_engine {
namespace {

TEST(WorkerPool, CallsEveryIndexOnceInEveryRound) {
  for (int threads : {1, 2, 3, 8}) {
    const auto pool = WorkerPool::Start(threads, true);
    ASSERT_TRUE(pool.ok()) << pool.status();
    EXPECT_EQ((*pool)->thread_count(), threads);
    for (size_t count : {0, 1, 2, 100}) {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::atomic<int>> calls(count);
        ASSERT_TRUE((*pool)
                        ->Run(count,
                              [&](size_t index, int worker) {
                                EXPECT_LT(worker, threads);
                                ++calls[index];
                              })
                        .ok());
        for (const std::atomic<int>& call : calls) EXPECT_EQ(call, 1);
      }
    }
  }
}

TEST(WorkerPool, RefusesCountsThatMakeNoSense) {
  EXPECT_EQ(WorkerPool::Start(0, false).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WorkerPool::Start(257, false).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(WorkerPool, EveryWorkerHasTheRightFloatingPointMode) {
  const auto pool = WorkerPool::Start(4, false);
  ASSERT_TRUE(pool.ok());
  std::atomic<int> wrong{0};
  ASSERT_TRUE(
      (*pool)->Run(200, [&](size_t, int) { wrong += !CheckFloatingPointEnvironment().ok(); }).ok());
  EXPECT_EQ(wrong, 0);
}

#if defined(__SSE2__)
TEST(WorkerPool, ComputesNothingForACallerThatFlushesSubnormals) {
  const auto pool = WorkerPool::Start(2, false);
  ASSERT_TRUE(pool.ok());
  _mm_setcsr(0x9fc0);
  int calls = 0;
  const absl::Status status = (*pool)->Run(3, [&](size_t, int) { ++calls; });
  SetFloatingPointEnvironment();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(calls, 0);
}

// A new thread inherits the mode of the one that starts it.
TEST(WorkerPool, StartedUnderAWrongModeComputesInTheRightOne) {
  _mm_setcsr(0x9fc0);
  const auto pool = WorkerPool::Start(3, false);
  ASSERT_TRUE(pool.ok());
  std::atomic<int> wrong{0};
  ASSERT_TRUE(
      (*pool)->Run(100, [&](size_t, int) { wrong += !CheckFloatingPointEnvironment().ok(); }).ok());
  EXPECT_EQ(wrong, 0);
}
#endif

}  // namespace
}  // namespace reenact::local_engine
