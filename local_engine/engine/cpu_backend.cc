#include "local_engine/engine/cpu_backend.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/device.h"
#include "local_engine/engine/cpu_forward.h"
#include "local_engine/engine/cpu_weights.h"
#include "local_engine/engine/physical_cores.h"
#include "local_engine/engine/stock_forward.h"

namespace reenact::local_engine {
namespace {

// What a worker is woken for must take longer than the waking: below this many bytes of weights
// one thread is the fastest.
constexpr int64_t kWorthThreadsBytes = int64_t{4} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeCpuBackend(
    const Model& model, const CpuBackendOptions& options,
    absl::FunctionRef<void(int64_t bytes)> on_packed) {
  int threads = options.thread_count;
  if (threads == 0) {
    threads = PackedSourceBytes(model) < kWorthThreadsBytes ? 1 : PhysicalCoreCount();
  }
  absl::StatusOr<std::unique_ptr<CpuDevice>> device =
      CpuDevice::Create({.isa = options.isa, .thread_count = threads});
  if (!device.ok()) return device.status();
  const WeightPlacement placement =
      options.weights_in_place ? WeightPlacement::kInPlace : WeightPlacement::kPackedSourceDropped;
  absl::StatusOr<CpuWeights> weights =
      MakeCpuWeights(model, placement, (*device)->pool(), on_packed);
  if (!weights.ok()) return weights.status();
  if (options.profile == Profile::kStock) {
    return std::make_unique<StockForward>(model, options.max_positions, *std::move(device),
                                          *std::move(weights));
  }
  return std::make_unique<CpuForward>(model, options.max_positions, *std::move(device),
                                      *std::move(weights));
}

}  // namespace reenact::local_engine
