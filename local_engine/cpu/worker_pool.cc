#include "local_engine/cpu/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/internal/planted_kernel_fault.h"
#include "local_engine/cpu/processor_order.h"
#include "local_engine/numerics/fp_environment.h"

namespace reenact::local_engine {
namespace {

constexpr int kMaxThreads = 256;
constexpr int kSpins = 2000;  // Some tens of microseconds.
constexpr uint32_t kClosed = 1;
constexpr uint32_t kOneInside = 2;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits while `value` is `old`: spins shortly, then blocks.
uint32_t WaitForChange(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    const uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    Pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

bool PinTo(std::thread& thread, int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  return pthread_setaffinity_np(thread.native_handle(), sizeof(one), &one) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerPool>> WorkerPool::Start(int thread_count, bool pin) {
  if (thread_count < 1 || thread_count > kMaxThreads) {
    return absl::InvalidArgumentError(std::to_string(thread_count) + " threads; from 1 to " +
                                      std::to_string(kMaxThreads) + " are possible");
  }
  std::unique_ptr<WorkerPool> pool(new WorkerPool);
  const std::vector<int> processors = AllowedProcessors();
  for (int worker = 1; worker < thread_count; ++worker) {
    ++pool->not_started_;
    try {
      pool->threads_.emplace_back([&pool = *pool, worker] { pool.Work(worker); });
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError("thread " + std::to_string(worker) + " of " +
                                          std::to_string(thread_count) + ": " + error.what());
    }
    // More threads than processors: where they run is better left to the system.
    if (pin && static_cast<size_t>(thread_count) <= processors.size() &&
        PinTo(pool->threads_.back(), processors[worker])) {
      ++pool->pinned_count_;
    }
  }
  SetFloatingPointEnvironment();
  if (absl::Status status = CheckFloatingPointEnvironment(); !status.ok()) return status;
  for (uint32_t missing = pool->not_started_; missing != 0;) {
    missing = WaitForChange(pool->not_started_, missing);
  }
  if (pool->wrong_mode_) {
    return absl::FailedPreconditionError("a worker's floating-point mode could not be set");
  }
  return pool;
}

WorkerPool::~WorkerPool() {
  stop_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

absl::Status WorkerPool::Run(size_t count, Task task) {
  if (absl::Status status = CheckFloatingPointEnvironment(); !status.ok()) return status;
  task_ = &task;
  count_ = count;
  next_index_.store(0, std::memory_order_relaxed);
  if (!threads_.empty() && count > 1) Open();
  TakeIndices(0);
  CloseAndWait();
  task_ = nullptr;
  return absl::OkStatus();
}

void WorkerPool::Open() {
  gate_.store(0, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void WorkerPool::CloseAndWait() {
  uint32_t gate = gate_.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
  while (gate != kClosed) gate = WaitForChange(gate_, gate);
}

bool WorkerPool::Join() {
  uint32_t gate = gate_.load(std::memory_order_relaxed);
  while ((gate & kClosed) == 0) {
    if (gate_.compare_exchange_weak(gate, gate + kOneInside, std::memory_order_acq_rel)) {
      return true;
    }
  }
  return false;
}

void WorkerPool::Leave() {
  const uint32_t before = gate_.fetch_sub(kOneInside, std::memory_order_acq_rel);
  if (before == (kOneInside | kClosed)) gate_.notify_one();
}

void WorkerPool::Work(int worker) {
  SetFloatingPointEnvironment();
  if (!CheckFloatingPointEnvironment().ok()) wrong_mode_ = true;
  if (not_started_.fetch_sub(1, std::memory_order_acq_rel) == 1) not_started_.notify_one();
#if defined(__SSE2__)
  if (Planted(KernelFault::kWorkersFlush)) _mm_setcsr(_mm_getcsr() | 0x8040u);
#endif
  for (uint32_t round = 0;;) {
    round = WaitForChange(round_, round);
    if (stop_) return;
    // Late for the round that woke it, a worker finds the gate closed, or open for the next.
    if (!Join()) continue;
    TakeIndices(worker);
    Leave();
  }
}

void WorkerPool::TakeIndices(int worker) {
  for (size_t index = next_index_.fetch_add(1, std::memory_order_relaxed); index < count_;
       index = next_index_.fetch_add(1, std::memory_order_relaxed)) {
    (*task_)(index, worker);
  }
}

}  // namespace reenact::local_engine
