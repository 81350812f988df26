#include "local_engine/cpu/worker_pool.h"

#include <pthread.h>
#include <signal.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <atomic>
#include <cstddef>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cpu/processor_order.h"
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

std::atomic<bool> worker_is_held{false};
std::atomic<bool> let_worker_go{false};

// What the system does to a thread that it does not run, at a moment of the test's choosing.
void HoldThisThread(int) {
  worker_is_held = true;
  while (!let_worker_go) {
  }
}

// The thread of worker 1, which takes an index while the caller has the other one.
pthread_t ThreadOfWorkerOne(WorkerPool* pool) {
  pthread_t thread{};
  std::atomic<int> inside{0};
  const absl::Status status = pool->Run(2, [&](size_t, int worker) {
    if (worker == 1) thread = pthread_self();
    ++inside;
    while (inside < 2) {
    }
  });
  EXPECT_TRUE(status.ok()) << status;
  return thread;
}

TEST(WorkerPool, ARoundDoesNotWaitForAWorkerThatTheSystemDoesNotRun) {
  const auto pool = WorkerPool::Start(2, false);
  ASSERT_TRUE(pool.ok()) << pool.status();
  struct sigaction action = {};
  action.sa_handler = HoldThisThread;
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  const pthread_t held = ThreadOfWorkerOne(pool->get());
  ASSERT_EQ(pthread_kill(held, SIGUSR1), 0);
  while (!worker_is_held) {
  }
  int by_the_caller = 0;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE((*pool)->Run(100, [&](size_t, int worker) { by_the_caller += worker == 0; }).ok());
  }
  EXPECT_EQ(by_the_caller, 300);
  let_worker_go = true;
  EXPECT_EQ(ThreadOfWorkerOne(pool->get()), held);  // It takes part again.
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

TEST(ProcessorOrder, GivesEachCoreOnceBeforeAnyCoreTwice) {
  // Two packages of two cores of two: siblings side by side, as virtual machines have them.
  const ProcessorPlace places[] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 1}, {3, 0, 1},
                                   {4, 1, 0}, {5, 1, 0}, {7, 1, 1}};
  EXPECT_EQ(EachCoreFirst(places), (std::vector<int>{0, 2, 4, 7, 1, 3, 5}));
}

TEST(ProcessorOrder, TakesAProcessorOfUnknownCoreForACore) {
  const ProcessorPlace places[] = {{0, -1, -1}, {1, -1, -1}, {2, 0, 3}, {3, 0, 3}};
  EXPECT_EQ(EachCoreFirst(places), (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace reenact::local_engine
