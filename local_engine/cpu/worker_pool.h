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
// other programs want is never held by a waiting thread.
class WorkerPool {
 public:
  // `thread_count` counts the thread that calls Run. With `pin`, started threads are bound to one
  // processor each where the system allows it, in turn from the caller's second allowed one on.
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

  std::vector<std::thread> threads_;
  int pinned_count_ = 0;
  std::atomic<bool> wrong_mode_{false};

  // Written between two rounds only.
  const Task* task_ = nullptr;
  size_t count_ = 0;
  bool stop_ = false;

  alignas(64) std::atomic<size_t> next_index_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
  alignas(64) std::atomic<uint32_t> working_{
      0};  // Started threads that are not done with the round.
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_WORKER_POOL_H_
