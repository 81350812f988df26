#include "local_engine/cpu/matrix_product.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/internal/panel_layout.h"

namespace reenact::local_engine {
namespace {

// Below this, weights in place are multiplied where they lie; from here on packing a panel pays.
constexpr size_t kInPlaceRows = 4;
constexpr size_t kInPlaceOutputs = 64;  // In one piece of work.

// Rows of activations in tiles that differ by one row at most: 16 rows are 8 and 8, not 12 and 4.
struct RowTiles {
  RowTiles(size_t row_count, size_t most) : count((row_count + most - 1) / most), rows(row_count) {}

  size_t Begin(size_t tile) const { return rows * tile / count; }

  size_t count;
  size_t rows;
};

using TileKernel = void (*)(const ProductTile&);
using InPlaceKernel = void (*)(const InPlaceRows&);

TileKernel TileKernelFor(const KernelTable& kernels, DataType type) {
  if (type == DataType::kF16) return kernels.multiply_f16;
  return type == DataType::kBF16 ? kernels.multiply_bf16 : kernels.multiply_f32;
}

InPlaceKernel InPlaceKernelFor(const KernelTable& kernels, DataType type) {
  if (type == DataType::kF16) return kernels.in_place_f16;
  return type == DataType::kBF16 ? kernels.in_place_bf16 : kernels.in_place_f32;
}

absl::Status MultiplyInPlace(const Matrix& weights, std::span<const float> x, size_t rows,
                             CpuDevice& device, std::span<float> y) {
  const size_t dim = weights.input_dim();
  const size_t padded = FloatChunkCount(dim) * kDotChunk;
  auto* packed = reinterpret_cast<float*>(device.ActivationScratch(rows * padded * sizeof(float)));
  for (size_t m = 0; m < rows; ++m) {
    device.kernels().pack_lanes(x.data() + m * dim, dim, packed + m * padded);
  }
  const size_t pieces = (weights.output_dim() + kInPlaceOutputs - 1) / kInPlaceOutputs;
  return device.pool().Run(pieces, [&](size_t piece, int) {
    const size_t first = piece * kInPlaceOutputs;
    const size_t count = std::min(kInPlaceOutputs, weights.output_dim() - first);
    const void* pointers[kInPlaceOutputs];
    for (size_t n = 0; n < count; ++n) pointers[n] = weights.Row(first + n);
    for (size_t m = 0; m < rows; ++m) {
      InPlaceKernelFor(device.kernels(), weights.type())(
          {.x = packed + m * padded,
           .weights = pointers,
           .dim = dim,
           .outputs = static_cast<int>(count),
           .bias = weights.bias() != nullptr ? weights.bias() + first : nullptr,
           .y = y.data() + m * weights.output_dim() + first});
    }
  });
}

// Packs every tile of activations.
absl::Status PackActivations(std::span<const float> x, size_t dim, const RowTiles& tiles,
                             CpuDevice& device, float* packed) {
  const size_t padded = FloatChunkCount(dim) * kDotChunk;
  const auto pack = [&](size_t tile, int) {
    const size_t begin = tiles.Begin(tile);
    device.kernels().pack_x({.x = x.data() + begin * dim,
                             .stride = dim,
                             .dim = dim,
                             .rows = static_cast<int>(tiles.Begin(tile + 1) - begin)},
                            packed + begin * padded);
  };
  if (tiles.count > 1) return device.pool().Run(tiles.count, pack);
  pack(0, 0);
  return absl::OkStatus();
}

}  // namespace

absl::Status Multiply(const Matrix& weights, std::span<const float> x, size_t rows,
                      CpuDevice& device, std::span<float> y) {
  if (rows == 0) return absl::OkStatus();
  if (weights.in_place() && rows <= kInPlaceRows) {
    return MultiplyInPlace(weights, x, rows, device, y);
  }
  const KernelTable& kernels = device.kernels();
  const size_t dim = weights.input_dim();
  const size_t padded = FloatChunkCount(dim) * kDotChunk;
  const RowTiles tiles(rows, static_cast<size_t>(kernels.max_tile_rows));
  auto* packed = reinterpret_cast<float*>(device.ActivationScratch(rows * padded * sizeof(float)));
  if (absl::Status status = PackActivations(x, dim, tiles, device, packed); !status.ok()) {
    return status;
  }
  const TileKernel kernel = TileKernelFor(kernels, weights.type());
  // One panel is one piece of work: it stays in the worker's cache while all rows pass by.
  return device.pool().Run(weights.panel_count(), [&](size_t panel, int worker) {
    std::byte* scratch =
        weights.in_place() ? device.WorkerScratch(worker, weights.panel_size_bytes()) : nullptr;
    const size_t first = panel * kPanelOutputs;
    ProductTile tile = {
        .panel = weights.Panel(panel, scratch),
        .dim = dim,
        .outputs = static_cast<int>(std::min<size_t>(kPanelOutputs, weights.output_dim() - first)),
        .bias = weights.bias() != nullptr ? weights.bias() + first : nullptr,
        .y_stride = weights.output_dim()};
    for (size_t block = 0; block < tiles.count; ++block) {
      const size_t begin = tiles.Begin(block);
      tile.x = packed + begin * padded;
      tile.rows = static_cast<int>(tiles.Begin(block + 1) - begin);
      tile.y = y.data() + begin * weights.output_dim() + first;
      kernel(tile);
    }
  });
}

}  // namespace reenact::local_engine
