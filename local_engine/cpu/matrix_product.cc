#include "local_engine/cpu/matrix_product.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"

#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/internal/panel_layout.h"
#include "local_engine/numerics/fp_environment.h"

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

// Tiles whose packed activations stay in the third-level cache while all panels pass by.
size_t TilesAtOnce(const RowTiles& tiles, size_t row_size_bytes) {
  constexpr size_t kBlockBytes = size_t{4} << 20;
  const size_t tile_bytes = (tiles.rows + tiles.count - 1) / tiles.count * row_size_bytes;
  return std::clamp<size_t>(kBlockBytes / tile_bytes, 1, tiles.count);
}

// What the product needs to know about a type of weights.
struct ProductKernels {
  void (*multiply)(const ProductTile&);
  void (*pack_floats)(const ActivationRows&, float*);      // Either this one
  void (*pack_integers)(const ActivationRows&, int32_t*);  // or that one.
  size_t max_rows;                                         // Of a tile.
  size_t row_size_bytes;                                   // Of packed activations.
};

ProductKernels KernelsOf(const KernelTable& kernels, const Matrix& weights) {
  const size_t dim = weights.input_dim();
  const auto byte_rows = static_cast<size_t>(kernels.max_byte_rows);
  if (weights.type() == DataType::kQ8_0) {
    return {kernels.multiply_q8, nullptr, kernels.pack_q8, byte_rows,
            dim / kQ8Group * kQ8PackedWords * sizeof(int32_t)};
  }
  if (weights.type() == DataType::kI8) {
    return {kernels.multiply_w8a8, nullptr, kernels.pack_w8a8, byte_rows,
            (QuadCount(dim) + 2) * sizeof(int32_t)};
  }
  const auto multiply = weights.type() == DataType::kF16    ? kernels.multiply_f16
                        : weights.type() == DataType::kBF16 ? kernels.multiply_bf16
                                                            : kernels.multiply_f32;
  return {multiply, kernels.pack_x, nullptr, static_cast<size_t>(kernels.max_tile_rows),
          FloatChunkCount(dim) * kDotChunk * sizeof(float)};
}

using InPlaceKernel = void (*)(const InPlaceRows&);

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
absl::Status PackActivations(const ProductKernels& kernels, std::span<const float> x, size_t dim,
                             const RowTiles& tiles, CpuDevice& device, std::byte* packed) {
  const auto pack = [&](size_t tile, int) {
    const size_t begin = tiles.Begin(tile);
    const ActivationRows rows = {.x = x.data() + begin * dim,
                                 .stride = dim,
                                 .dim = dim,
                                 .rows = static_cast<int>(tiles.Begin(tile + 1) - begin)};
    std::byte* to = packed + begin * kernels.row_size_bytes;
    if (kernels.pack_floats != nullptr) {
      kernels.pack_floats(rows, reinterpret_cast<float*>(to));
    } else {
      kernels.pack_integers(rows, reinterpret_cast<int32_t*>(to));
    }
  };
  if (tiles.count > 1) return device.pool().Run(tiles.count, pack);
  pack(0, 0);
  return absl::OkStatus();
}

bool IsMultipliedInPlace(const Matrix& weights, size_t rows) {
  return weights.in_place() && rows <= kInPlaceRows && !IsQuantised(weights.type());
}

// Whether both read activations in the same packed form.
bool SharePacking(const ProductKernels& a, const ProductKernels& b) {
  return a.pack_floats == b.pack_floats && a.pack_integers == b.pack_integers;
}

// A block of tiles with one panel of a product: a piece of work. The panel stays in the worker's
// cache meanwhile.
struct PanelWork {
  const ProductKernels& kernels;
  const RowTiles& tiles;
  const std::byte* packed;
  size_t first_tile;
  size_t tile_end;

  void Multiply(const Product& product, size_t panel, std::byte* scratch) const {
    const Matrix& weights = *product.weights;
    const size_t first = panel * kPanelOutputs;
    ProductTile work = {
        .panel = weights.Panel(panel, scratch),
        .dim = weights.input_dim(),
        .outputs = static_cast<int>(std::min<size_t>(kPanelOutputs, weights.output_dim() - first)),
        .row_scales = weights.row_scales() != nullptr ? weights.row_scales() + first : nullptr,
        .bias = weights.bias() != nullptr ? weights.bias() + first : nullptr,
        .y_stride = weights.output_dim()};
    for (size_t tile = first_tile; tile < tile_end; ++tile) {
      const size_t begin = tiles.Begin(tile);
      work.x = packed + begin * kernels.row_size_bytes;
      work.rows = static_cast<int>(tiles.Begin(tile + 1) - begin);
      work.y = product.y.data() + begin * weights.output_dim() + first;
      kernels.multiply(work);
    }
  }
};

// Products whose weights read the same packed activations.
absl::Status MultiplyPacked(std::span<const Product> products, std::span<const float> x,
                            size_t rows, CpuDevice& device) {
  const ProductKernels first = KernelsOf(device.kernels(), *products[0].weights);
  const RowTiles tiles(rows, first.max_rows);
  std::byte* packed = device.ActivationScratch(rows * first.row_size_bytes);
  const size_t dim = products[0].weights->input_dim();
  absl::Status status = PackActivations(first, x, dim, tiles, device, packed);
  if (!status.ok()) return status;
  const size_t block_tiles = TilesAtOnce(tiles, first.row_size_bytes);
  const size_t blocks = (tiles.count + block_tiles - 1) / block_tiles;
  size_t panels = 0;
  for (const Product& product : products) panels += product.weights->panel_count();
  return device.pool().Run(blocks * panels, [&](size_t index, int worker) {
    size_t panel = index % panels;
    const Product* product = products.data();
    for (; panel >= product->weights->panel_count(); ++product) {
      panel -= product->weights->panel_count();
    }
    const Matrix& weights = *product->weights;
    std::byte* scratch =
        weights.in_place() ? device.WorkerScratch(worker, weights.panel_size_bytes()) : nullptr;
    const size_t first_tile = index / panels * block_tiles;
    const ProductKernels kernels = KernelsOf(device.kernels(), weights);
    PanelWork{.kernels = kernels,
              .tiles = tiles,
              .packed = packed,
              .first_tile = first_tile,
              .tile_end = std::min(first_tile + block_tiles, tiles.count)}
        .Multiply(*product, panel, scratch);
  });
}

}  // namespace

absl::Status Multiply(std::span<const Product> products, std::span<const float> x, size_t rows,
                      CpuDevice& device) {
  if (rows == 0) return absl::OkStatus();
  if (absl::Status status = CheckFloatingPointEnvironment(); !status.ok()) return status;
  while (!products.empty()) {
    const Matrix& weights = *products[0].weights;
    const bool in_place = IsMultipliedInPlace(weights, rows);
    size_t count = 1;
    while (!in_place && count < products.size() &&
           !IsMultipliedInPlace(*products[count].weights, rows) &&
           SharePacking(KernelsOf(device.kernels(), weights),
                        KernelsOf(device.kernels(), *products[count].weights))) {
      ++count;
    }
    const absl::Status status = in_place ? MultiplyInPlace(weights, x, rows, device, products[0].y)
                                         : MultiplyPacked(products.first(count), x, rows, device);
    if (!status.ok()) return status;
    products = products.subspan(count);
  }
  return absl::OkStatus();
}

}  // namespace reenact::local_engine
