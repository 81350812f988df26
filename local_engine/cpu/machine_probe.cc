#include "local_engine/cpu/machine_probe.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/internal/kernel_table.h"

namespace reenact::local_engine {
namespace {

absl::StatusOr<double> SecondsOf(size_t count, absl::FunctionRef<void(size_t, int)> task,
                                 CpuDevice& device) {
  const auto start = std::chrono::steady_clock::now();
  if (absl::Status status = device.pool().Run(count, task); !status.ok()) return status;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

absl::StatusOr<double> MeasureFmaRate(CpuDevice& device) {
  constexpr size_t kPieceFlops = 16'000'000;
  const KernelTable& kernels = device.kernels();
  const size_t iterations = kPieceFlops / kernels.fma_probe_flops;
  // Several pieces a thread: one that loses its processor for a while leaves the rest to others.
  const size_t pieces = 8 * static_cast<size_t>(device.pool().thread_count());
  std::vector<float> results(pieces);
  const absl::StatusOr<double> seconds = SecondsOf(
      pieces, [&](size_t piece, int) { results[piece] = kernels.fma_probe(iterations); }, device);
  if (!seconds.ok()) return seconds.status();
  return static_cast<double>(pieces * iterations * kernels.fma_probe_flops) / *seconds;
}

absl::StatusOr<double> MeasureReadRate(std::span<const float> memory, CpuDevice& device) {
  constexpr size_t kPiece = size_t{1} << 16;
  const size_t pieces = (memory.size() + kPiece - 1) / kPiece;
  std::vector<unsigned char> finite(pieces);
  const absl::StatusOr<double> seconds = SecondsOf(
      pieces,
      [&](size_t piece, int) {
        const auto part = memory.subspan(piece * kPiece);
        finite[piece] = device.kernels().is_finite(part.data(), std::min(kPiece, part.size()));
      },
      device);
  if (!seconds.ok()) return seconds.status();
  return static_cast<double>(memory.size_bytes()) / *seconds;
}

}  // namespace reenact::local_engine
