// Threads that compute. They decide who computes an output, never how it is computed.

#ifndef REENACT_LOCAL_ENGINE_CPU_WORKER_POOL_H_
#define REENACT_LOCAL_ENGINE_CPU_WORKER_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reenact::local_engine {

// A worker that waits for work looks for it for some microseconds, then blocks: a processor that
// other programs want is never held by a waiting thread. Nor does a round wait for a worker that
// the system has not run yet: the others do its work, and it joins a later round.
class WorkerPool {
 public:
  // `thread_count` counts the thread that calls Run. With `pin`, started threads are bound to one
  // processor each where the system allows it, from the second of processor_order.h on.
  // Errors: InvalidArgument for a count outside 1 ... 256; ResourceExhausted when the system starts
  // no more threads; FailedPrecondition when a thread cannot be given the floating-point mode.
  static absl::StatusOr<std::unique_ptr<WorkerPool>> Start(int thread_count, bool pin);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls task(index, worker) once for each index below `count`, in any order, and returns when all
  // have returned. `worker` is below thread_count() and tells simultaneous calls apart.
  // FailedPrecondition, without a call: the floating-point mode of the calling thread is wrong.
  // Threads: one Run at a time.
  absl::Status Run(size_t count, absl::FunctionRef<void(size_t index, int worker)> task);

  int thread_count() const { return static_cast<int>(threads_.size()) + 1; }

  // How many of the started threads are bound to a processor.
  int pinned_count() const { return pinned_count_; }

 private:
  using Task = absl::FunctionRef<void(size_t, int)>;

  WorkerPool() = default;
  void Work(int worker);
  void TakeIndices(int worker);
  void Open();
  void CloseAndWait();
  bool Join();
  void Leave();

  std::vector<std::thread> threads_;
  int pinned_count_ = 0;
  std::atomic<uint32_t> not_started_{0};  // Threads that have not checked their mode yet.
  std::atomic<bool> wrong_mode_{false};
  std::atomic<bool> stop_{false};

  // Written while the gate is closed and nobody is inside, read by those who have joined.
  const Task* task_ = nullptr;
  size_t count_ = 0;

  alignas(64) std::atomic<size_t> next_index_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
  // Bit 0: closed, nobody may join. The rest: twice the started threads that are inside.
  alignas(64) std::atomic<uint32_t> gate_{1};
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_WORKER_POOL_H_
