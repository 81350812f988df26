#include "local_engine/cpu/device.h"

#include <sched.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/isa.h"
#include "local_engine/cpu/worker_pool.h"
#include "local_engine/numerics/fp_environment.h"

namespace reenact::local_engine {
namespace {

int AllowedProcessorCount() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuDevice>> CpuDevice::Create(const CpuDeviceOptions& options) {
  Isa isa = AvailableIsas().back();
  if (!options.isa.empty()) {
    const absl::StatusOr<Isa> asked = AvailableIsaNamed(options.isa);
    if (!asked.ok()) return asked.status();
    isa = *asked;
  }
  const int thread_count =
      options.thread_count == 0 ? AllowedProcessorCount() : options.thread_count;
  absl::StatusOr<std::unique_ptr<WorkerPool>> pool = WorkerPool::Start(thread_count, options.pin);
  if (!pool.ok()) return pool.status();
  return std::unique_ptr<CpuDevice>(new CpuDevice(isa, *std::move(pool)));
}

CpuDevice::CpuDevice(Isa isa, std::unique_ptr<WorkerPool> pool)
    : isa_(isa),
      kernels_(KernelsFor(isa)),
      pool_(std::move(pool)),
      of_workers_(new AlignedBytes[static_cast<size_t>(pool_->thread_count())]) {}

absl::Status CpuDevice::Run(size_t count, size_t values,
                            absl::FunctionRef<void(size_t index, int worker)> task) {
  constexpr size_t kWorthWaking = 16384;
  if (count * values >= kWorthWaking) return pool_->Run(count, task);
  if (absl::Status status = CheckFloatingPointEnvironment(); !status.ok()) return status;
  for (size_t index = 0; index < count; ++index) task(index, 0);
  return absl::OkStatus();
}

}  // namespace reenact::local_engine
