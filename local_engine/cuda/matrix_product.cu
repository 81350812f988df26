#include <algorithm>
#include <cstddef>
#include <span>

#include "local_engine/cuda/byte_row_product.cuh"
#include "local_engine/cuda/byte_tile_product.cuh"
#include "local_engine/cuda/elementwise.h"
#include "local_engine/cuda/matrix_product.h"
#include "local_engine/cuda/rms_norm.h"
#include "local_engine/cuda/row_product.cuh"
#include "local_engine/cuda/tile_product.cuh"

namespace reenact::local_engine {
namespace {

// From here on tiles of rows pay: below, each row costs less time than reading the weights does.
constexpr size_t kTileRowsFrom = 33;
constexpr int kFewRows = 8;  // Of a block, when there is more than one.

ProductArguments ArgumentsOf(std::span<const Product> products, const ProductRows& rows) {
  ProductArguments work = {
      .rows = {.x = rows.x.data(),
               .row_count = static_cast<int>(rows.rows),
               .dim = products[0].weights->input_dim(),
               .norm_weight = rows.norm_weight.empty() ? nullptr : rows.norm_weight.data(),
               .epsilon = rows.epsilon},
      .matrix_count = static_cast<int>(products.size())};
  for (size_t i = 0; i < products.size(); ++i) {
    work.matrices[i] = products[i].weights->view();
    work.y[i] = products[i].y.data();
  }
  return work;
}

// Few rows: one launch for all matrices.

template <int kRows, bool kGate>
void LaunchRows(DataType type, const ProductArguments& work, int panels, CudaDevice& device) {
  LaunchShape shape = {
      .blocks = dim3(static_cast<unsigned>(panels),
                     static_cast<unsigned>(CountOf(work.rows.row_count, kRows))),
      .threads = kRowThreads,
      .shared_bytes = IsQuantised(type) ? sizeof(ByteRowShared<kRows>) : sizeof(RowShared<kRows>)};
  switch (type) {
    case DataType::kF32:
      return device.Launch(shape, RowProductKernel<F32Weights, kRows, kGate>, work);
    case DataType::kF16:
      return device.Launch(shape, RowProductKernel<F16Weights, kRows, kGate>, work);
    case DataType::kBF16:
      return device.Launch(shape, RowProductKernel<Bf16Weights, kRows, kGate>, work);
    case DataType::kQ8_0:
      return device.Launch(shape, Q8RowProductKernel<kRows, kGate>, work);
    case DataType::kI8:
      return device.Launch(shape, W8A8RowProductKernel<kRows, kGate>, work);
  }
}

template <bool kGate>
void MultiplyRows(DataType type, const ProductArguments& work, CudaDevice& device) {
  int panels = 0;
  for (int i = 0; i < (kGate ? 1 : work.matrix_count); ++i) {
    panels += CountOf(work.matrices[i].output_dim, kPanelOutputs);
  }
  if (work.rows.row_count == 1) return LaunchRows<1, kGate>(type, work, panels, device);
  LaunchRows<kFewRows, kGate>(type, work, panels, device);
}

// Many rows: made ready once, then a launch for each matrix.

// Where the scratch memory of one product keeps what.
struct TileScratch {
  float* normalised = nullptr;
  float* arranged = nullptr;
  QuantisedRows quantised;
};

// Takes arrays from one piece of memory; with no memory yet, counts what it takes.
class Cutter {
 public:
  explicit Cutter(std::byte* memory) : memory_(memory) {}

  template <typename T>
  T* Take(size_t count) {
    T* taken = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += (count * sizeof(T) + 255) / 256 * 256;
    return taken;
  }

  size_t used() const { return used_; }

 private:
  std::byte* memory_;
  size_t used_ = 0;
};

TileScratch CutScratch(const ProductArguments& work, DataType type, Cutter* cutter) {
  const auto rows = static_cast<size_t>(work.rows.row_count);
  const int dim = work.rows.dim;
  TileScratch scratch;
  if (work.rows.norm_weight != nullptr) {
    scratch.normalised = cutter->Take<float>(rows * static_cast<size_t>(dim));
  }
  if (IsQuantised(type)) {
    scratch.quantised.x = cutter->Take<uint4>(rows * static_cast<size_t>(ByteRowUnits(dim)));
    const int groups = type == DataType::kQ8_0 ? Q8GroupCount(dim) : 1;
    scratch.quantised.scales = cutter->Take<float>(rows * static_cast<size_t>(groups));
  } else {
    const auto tiles = static_cast<size_t>(CountOf(work.rows.row_count, kTileRows));
    scratch.arranged = cutter->Take<float>(tiles * ArrangedTileFloats(dim));
  }
  return scratch;
}

// Normalises, then arranges or quantises.
void PrepareRows(DataType type, const TileScratch& scratch, CudaDevice& device,
                 ProductArguments* work) {
  ActivationRows& rows = work->rows;
  const auto dim = static_cast<size_t>(rows.dim);
  const size_t values = static_cast<size_t>(rows.row_count) * dim;
  if (rows.norm_weight != nullptr) {
    RmsNormRows({rows.x, values}, {rows.norm_weight, dim}, rows.epsilon, device,
                {scratch.normalised, values});
    rows.x = scratch.normalised;
    rows.norm_weight = nullptr;
  }
  if (IsQuantised(type)) {
    device.Launch({.blocks = dim3(static_cast<unsigned>(rows.row_count)),
                   .threads = kRowThreads,
                   .shared_bytes = sizeof(QuantiseShared)},
                  type == DataType::kQ8_0 ? QuantiseRowsKernel<true> : QuantiseRowsKernel<false>,
                  rows, scratch.quantised);
    return;
  }
  device.Launch({.blocks = dim3(static_cast<unsigned>(ChunkCount(rows.dim)),
                                static_cast<unsigned>(CountOf(rows.row_count, kTileRows))),
                 .threads = kArrangeThreads,
                 .shared_bytes = sizeof(ArrangeShared)},
                ArrangeRowsKernel, rows.x, rows.row_count, rows.dim, scratch.arranged);
}

LaunchShape TileShape(const ProductArguments& work, int tile_rows, int tile_outputs, int threads,
                      size_t shared_bytes) {
  return {.blocks = dim3(static_cast<unsigned>(CountOf(work.matrices[0].output_dim, tile_outputs)),
                         static_cast<unsigned>(CountOf(work.rows.row_count, tile_rows))),
          .threads = static_cast<unsigned>(threads),
          .shared_bytes = shared_bytes};
}

template <typename Tile>
LaunchShape ByteTileShape(const ProductArguments& work) {
  return TileShape(work, Tile::kRows, Tile::kOutputs, Tile::kThreads, sizeof(ByteTileShared<Tile>));
}

// Matrix `index` of `work`.
void LaunchTiles(DataType type, const ProductArguments& work, size_t index,
                 const TileScratch& scratch, CudaDevice& device) {
  ProductArguments one = {
      .rows = work.rows, .matrix_count = 1, .adds = work.adds, .check = work.check};
  one.matrices[0] = work.matrices[index];
  one.y[0] = work.y[index];
  const LaunchShape shape =
      TileShape(one, kTileRows, kTileOutputs, kTileThreads, sizeof(TileShared));
  switch (type) {
    case DataType::kF32:
      return device.Launch(shape, TileProductKernel<F32Weights>, one, scratch.arranged);
    case DataType::kF16:
      return device.Launch(shape, TileProductKernel<F16Weights>, one, scratch.arranged);
    case DataType::kBF16:
      return device.Launch(shape, TileProductKernel<Bf16Weights>, one, scratch.arranged);
    case DataType::kQ8_0:
      return device.Launch(ByteTileShape<Q8Tile>(one), Q8TileProductKernel<Q8Tile>, one,
                           scratch.quantised);
    case DataType::kI8:
      return device.Launch(ByteTileShape<W8A8Tile>(one), W8A8TileProductKernel<W8A8Tile>, one,
                           scratch.quantised);
  }
}

TileScratch PreparedScratch(DataType type, CudaDevice& device, ProductArguments* work) {
  Cutter counter(nullptr);
  CutScratch(*work, type, &counter);
  Cutter cutter(device.Scratch(ScratchUse::kRows, counter.used()));
  const TileScratch scratch = CutScratch(*work, type, &cutter);
  PrepareRows(type, scratch, device, work);
  return scratch;
}

void MultiplyTiles(DataType type, ProductArguments work, CudaDevice& device) {
  const TileScratch scratch = PreparedScratch(type, device, &work);
  for (int i = 0; i < work.matrix_count; ++i) {
    LaunchTiles(type, work, static_cast<size_t>(i), scratch, device);
  }
}

}  // namespace

void Multiply(std::span<const Product> products, const ProductRows& rows, CudaDevice& device) {
  // Matrices of one type share a launch.
  for (size_t first = 0; first < products.size();) {
    const DataType type = products[first].weights->type();
    size_t end = first + 1;
    while (end < products.size() && products[end].weights->type() == type) ++end;
    const ProductArguments work = ArgumentsOf(products.subspan(first, end - first), rows);
    if (rows.rows < kTileRowsFrom) {
      MultiplyRows<false>(type, work, device);
    } else {
      MultiplyTiles(type, work, device);
    }
    first = end;
  }
}

void MultiplyAndAdd(const Product& product, const ProductRows& rows, const FiniteCheck& check,
                    CudaDevice& device) {
  ProductArguments work = ArgumentsOf({&product, 1}, rows);
  work.adds = true;
  work.check = check;
  const DataType type = product.weights->type();
  if (rows.rows < kTileRowsFrom) return MultiplyRows<false>(type, work, device);
  MultiplyTiles(type, work, device);
}

void MultiplyAndGate(const Product& gate, const CudaMatrix& up, const ProductRows& rows,
                     const FiniteCheck& check, CudaDevice& device) {
  const DataType type = gate.weights->type();
  const Product products[] = {gate, {&up, {}}};
  ProductArguments work = ArgumentsOf(products, rows);
  work.check = check;
  if (type == up.type() && rows.rows < kTileRowsFrom) {
    return MultiplyRows<true>(type, work, device);
  }
  const size_t dim = static_cast<size_t>(up.output_dim());
  const size_t values = rows.rows * dim;
  auto* up_memory =
      reinterpret_cast<float*>(device.Scratch(ScratchUse::kUp, values * sizeof(float)));
  if (up_memory == nullptr) return;
  const std::span<float> up_values = {up_memory, values};
  const Product both[] = {gate, {&up, up_values}};
  Multiply(both, rows, device);
  SiluMul(gate.y, up_values, dim, check, device, gate.y);
}

}  // namespace reenact::local_engine
