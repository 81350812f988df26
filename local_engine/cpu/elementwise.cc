#include "local_engine/cpu/elementwise.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "absl/status/status.h"

#include "local_engine/cpu/internal/kernel_table.h"

namespace reenact::local_engine {
namespace {

constexpr size_t kPiece = 4096;

size_t PieceCount(size_t count) {
  return (count + kPiece - 1) / kPiece;
}

size_t PieceSize(size_t count, size_t piece) {
  return std::min(kPiece, count - piece * kPiece);
}

}  // namespace

absl::Status SiluMul(std::span<const float> gate, std::span<const float> up, CpuDevice& device,
                     std::span<float> out) {
  return device.Run(PieceCount(gate.size()), kPiece, [&](size_t piece, int) {
    const size_t at = piece * kPiece;
    device.kernels().silu_mul(gate.data() + at, up.data() + at, PieceSize(gate.size(), piece),
                              out.data() + at);
  });
}

absl::Status AddTo(std::span<const float> delta, CpuDevice& device, std::span<float> x) {
  return device.Run(PieceCount(x.size()), kPiece / 4, [&](size_t piece, int) {
    const size_t at = piece * kPiece;
    device.kernels().add(delta.data() + at, PieceSize(x.size(), piece), x.data() + at);
  });
}

absl::Status RoundTo(DataType type, CpuDevice& device, std::span<float> x) {
  if (type == DataType::kF32) return absl::OkStatus();
  const auto round =
      type == DataType::kF16 ? device.kernels().round_f16 : device.kernels().round_bf16;
  return device.Run(PieceCount(x.size()), kPiece / 4, [&](size_t piece, int) {
    round(x.data() + piece * kPiece, PieceSize(x.size(), piece));
  });
}

bool AllFinite(std::span<const float> x, const CpuDevice& device) {
  return device.kernels().is_finite(x.data(), x.size());
}

}  // namespace reenact::local_engine
