// The processor as a place to compute: which kernels, how many threads, and the scratch memory that
// operations share.

#ifndef REENACT_LOCAL_ENGINE_CPU_DEVICE_H_
#define REENACT_LOCAL_ENGINE_CPU_DEVICE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/aligned_bytes.h"
#include "local_engine/cpu/isa.h"
#include "local_engine/cpu/worker_pool.h"

namespace reenact::local_engine {

struct CpuDeviceOptions {
  std::string isa;       // A name of isa.h; empty: the fastest that is available.
  int thread_count = 0;  // 0: one for each processor that the process may run on.
  bool pin = true;       // Bind threads to processors where that is allowed.
};

// Threads: one operation at a time.
class CpuDevice {
 public:
  // Sets the floating-point mode of the calling thread, too. Errors are those of AvailableIsaNamed
  // and WorkerPool::Start.
  static absl::StatusOr<std::unique_ptr<CpuDevice>> Create(const CpuDeviceOptions& options);

  Isa isa() const { return isa_; }

  const KernelTable& kernels() const { return kernels_; }

  WorkerPool& pool() { return *pool_; }

  // pool().Run, but on the calling thread alone where all indices together have so little to do
  // (`values` each) that waking others would take longer.
  absl::Status Run(size_t count, size_t values,
                   absl::FunctionRef<void(size_t index, int worker)> task);

  // For activations in packed form: valid until the next call.
  std::byte* ActivationScratch(size_t size_bytes) { return activations_.AtLeast(size_bytes); }

  // The same for each worker on its own.
  std::byte* WorkerScratch(int worker, size_t size_bytes) {
    return of_workers_[worker].AtLeast(size_bytes);
  }

 private:
  CpuDevice(Isa isa, std::unique_ptr<WorkerPool> pool);

  const Isa isa_;
  const KernelTable& kernels_;
  std::unique_ptr<WorkerPool> pool_;
  AlignedBytes activations_;
  std::unique_ptr<AlignedBytes[]> of_workers_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_DEVICE_H_
