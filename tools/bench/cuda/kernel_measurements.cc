#include "tools/bench/cuda/kernel_measurements.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "local_engine/cuda/attention.h"
#include "local_engine/cuda/device.h"
#include "local_engine/cuda/matrix.h"
#include "local_engine/cuda/matrix_product.h"
#include "tools/bench/cuda/free_order_product.h"
#include "tools/bench/cuda/multiply_adds.h"

namespace reenact::bench {
namespace {

using local_engine::CudaDevice;
using local_engine::CudaMatrix;
using local_engine::DataType;
using local_engine::DeviceMemory;
using local_engine::KvCache;
using local_engine::Product;

constexpr DataType kTypes[] = {DataType::kF32, DataType::kBF16, DataType::kQ8_0, DataType::kI8};

std::string ShapeName(size_t rows, size_t outputs, size_t dim) {
  return std::to_string(rows) + " x " + std::to_string(outputs) + " x " + std::to_string(dim);
}

// Bytes read and written, so that what only reads is held to the same bandwidth.
std::optional<double> CopyGigabytes(size_t size_bytes, CudaDevice& device) {
  DeviceMemory from, to;
  if (!device.Reserve(size_bytes, &from) || !device.Reserve(size_bytes, &to)) return std::nullopt;
  const std::optional<double> time =
      Milliseconds(device, [&] { device.Copy(to.As<void>(), from.As<void>(), size_bytes); });
  if (!time.has_value()) return std::nullopt;
  return 2 * static_cast<double>(size_bytes) / *time / 1e6;
}

// A product of random rows and weights, ready to be timed.
struct ReadyProduct {
  std::unique_ptr<RandomWeights> weights;
  CudaMatrix matrix;
  DeviceMemory x, y;
  size_t rows = 0, outputs = 0, dim = 0;

  bool Make(DataType type, CudaDevice& device) {
    weights = MakeRandomWeights(type, outputs, dim);
    if (CudaMatrix::Make(weights->projection, device, &matrix) != cudaSuccess) return false;
    if (!device.Reserve(rows * dim * sizeof(float), &x) ||
        !device.Reserve(rows * outputs * sizeof(float), &y)) {
      return false;
    }
    const std::vector<float> values(rows * dim, 0.5f);
    device.Copy(x.As<void>(), values.data(), values.size() * sizeof(float));
    return device.Wait() == cudaSuccess;
  }

  Product ToDo() const { return {&matrix, {y.As<float>(), rows * outputs}}; }

  std::optional<double> Time(CudaDevice& device) const {
    const Product product = ToDo();
    return Milliseconds(device, [&] {
      Multiply({&product, 1}, {.x = {x.As<float>(), rows * dim}, .rows = rows}, device);
    });
  }
};

std::optional<Measured> Gemv(DataType type, const BenchSizes& sizes, double copy) {
  CudaDevice device(nullptr);
  ReadyProduct product = {.rows = 1, .outputs = sizes.gemv_outputs, .dim = sizes.gemv_dim};
  if (!product.Make(type, device)) return std::nullopt;
  const std::optional<double> time = product.Time(device);
  if (!time.has_value()) return std::nullopt;
  return Measured{static_cast<double>(product.weights->bytes.size()) / *time / 1e6, copy};
}

bool Upload(const std::vector<int32_t>& values, CudaDevice& device, DeviceMemory* memory) {
  const size_t size_bytes = values.size() * sizeof(int32_t);
  if (!device.Reserve(size_bytes, memory)) return false;
  device.Copy(memory->As<void>(), values.data(), size_bytes);
  return true;
}

// Decode of `batch` sequences with `context` positions each, BF16.
std::optional<Measured> Attention(const BenchSizes& sizes, const BenchSizes::Attention& shape,
                                  double copy) {
  CudaDevice device(nullptr);
  KvCache cache = {.type = DataType::kBF16,
                   .layer_count = 1,
                   .kv_head_count = sizes.kv_head_count,
                   .head_dim = sizes.head_dim};
  const int pages = shape.context / local_engine::kKvPagePositions;
  std::vector<int32_t> tables(static_cast<size_t>(shape.batch * pages));
  const std::vector<int32_t> positions(static_cast<size_t>(shape.batch), shape.context - 1);
  std::vector<int32_t> first_pages(static_cast<size_t>(shape.batch));
  for (size_t i = 0; i < tables.size(); ++i) tables[i] = static_cast<int32_t>(i);
  for (size_t i = 0; i < first_pages.size(); ++i) {
    first_pages[i] = static_cast<int32_t>(i) * pages;
  }
  const size_t cache_bytes = KvPageBytes(cache) * tables.size();
  const size_t row_bytes =
      sizeof(float) * static_cast<size_t>(shape.batch * sizes.head_count * sizes.head_dim);
  DeviceMemory kv, queries, out, of_positions, of_first_pages, of_tables;
  const bool reserved =
      device.Reserve(cache_bytes, &kv) && device.Reserve(row_bytes, &queries) &&
      device.Reserve(row_bytes, &out) && Upload(positions, device, &of_positions) &&
      Upload(first_pages, device, &of_first_pages) && Upload(tables, device, &of_tables);
  if (!reserved) return std::nullopt;
  device.Fill(kv.As<void>(), 0x3c, cache_bytes);
  device.Fill(queries.As<void>(), 0x3c, row_bytes);
  cache.pages = kv.As<unsigned char>();
  local_engine::AttentionPlan plan;
  plan.Make(positions, first_pages, sizes.head_count / sizes.kv_head_count, device);
  const local_engine::StepPositions step = {shape.batch, of_positions.As<int32_t>(),
                                            of_first_pages.As<int32_t>(), of_tables.As<int32_t>()};
  const local_engine::AttentionRows rows = {.queries = queries.As<float>(),
                                            .out = out.As<float>(),
                                            .head_count = sizes.head_count,
                                            .scale = 0.088f};
  const std::optional<double> time =
      Milliseconds(device, [&] { AttendRows(step, rows, plan, cache, device); });
  if (!time.has_value()) return std::nullopt;
  return Measured{static_cast<double>(cache_bytes) / *time / 1e6, copy};
}

// The peak of binary32: what arithmetic in registers comes to.
std::optional<double> PeakTeraflops(const BenchSizes& sizes) {
  CudaDevice device(nullptr);
  const size_t threads = sizes.multiply_add_blocks * kMultiplyAddThreads;
  DeviceMemory sums;
  if (!device.Reserve(threads * sizeof(float), &sums)) return std::nullopt;
  const std::optional<double> time = Milliseconds(device, [&] {
    MultiplyAndAddInRegisters(sizes.multiply_add_blocks, sizes.multiply_add_rounds, device,
                              sums.As<float>());
  });
  if (!time.has_value()) return std::nullopt;
  const double links = static_cast<double>(threads * kMultiplyAddChains) *
                       static_cast<double>(sizes.multiply_add_rounds);
  return 2.0 * links / *time / 1e9;
}

double Teraflops(const BenchSizes& sizes, double milliseconds) {
  return 2.0 * static_cast<double>(sizes.gemm_rows) * static_cast<double>(sizes.gemm_outputs) *
         static_cast<double>(sizes.gemm_dim) / milliseconds / 1e9;
}

std::optional<Measured> Gemm(DataType type, const BenchSizes& sizes, const Cublas* cublas) {
  CudaDevice device(nullptr);
  ReadyProduct product = {
      .rows = sizes.gemm_rows, .outputs = sizes.gemm_outputs, .dim = sizes.gemm_dim};
  if (!product.Make(type, device)) return std::nullopt;
  const std::optional<double> time = product.Time(device);
  if (!time.has_value()) return std::nullopt;
  const std::optional<double> other =
      CublasMilliseconds(cublas, type == DataType::kI8 ? CublasKind::kInt8 : CublasKind::kFloat32,
                         sizes.gemm_rows, sizes.gemm_outputs, sizes.gemm_dim, device);
  return Measured{Teraflops(sizes, *time), other.has_value() ? Teraflops(sizes, *other) : 0};
}

struct OrderRates {
  double written = 0, free_order = 0;  // TFLOP/s.
  double cublas = 0;                   // 0 where it is not there.
};

// Of F32, without the arranging of the rows, which is the same in either order.
std::optional<OrderRates> RatesOfOrders(const BenchSizes& sizes, const Cublas* cublas) {
  CudaDevice device(nullptr);
  ReadyProduct product = {
      .rows = sizes.gemm_rows, .outputs = sizes.gemm_outputs, .dim = sizes.gemm_dim};
  DeviceMemory arranged;
  const size_t arranged_bytes = ArrangedFloats(product.rows, product.dim) * sizeof(float);
  if (!product.Make(DataType::kF32, device) || !device.Reserve(arranged_bytes, &arranged)) {
    return std::nullopt;
  }
  device.Fill(arranged.As<void>(), 0x3c, arranged_bytes);
  const auto time = [&](bool free_order) {
    return Milliseconds(device, [&] {
      MultiplyArranged(product.ToDo(), product.rows, arranged.As<float>(), free_order, device);
    });
  };
  const std::optional<double> written = time(false), free_order = time(true);
  if (!written.has_value() || !free_order.has_value()) return std::nullopt;
  const std::optional<double> other = CublasMilliseconds(
      cublas, CublasKind::kFloat32, sizes.gemm_rows, sizes.gemm_outputs, sizes.gemm_dim, device);
  return OrderRates{Teraflops(sizes, *written), Teraflops(sizes, *free_order),
                    other.has_value() ? Teraflops(sizes, *other) : 0};
}

// The order of n1 beside the free one and beside the peak; and whether the free one is a measure.
void MeasureOrders(const std::string& shape, const BenchSizes& sizes, const Cublas* cublas,
                   double peak, Measurements* measurements) {
  std::optional<OrderRates> rates;
  const std::string written = "order n1, F32, " + shape;
  measurements->Measure({.what = written, .unit = "TFLOP/s", .beside = "free order"},
                        [&]() -> std::optional<Measured> {
                          rates = RatesOfOrders(sizes, cublas);
                          if (!rates.has_value()) return std::nullopt;
                          return Measured{rates->written, rates->free_order};
                        });
  measurements->Measure({.what = written, .unit = "TFLOP/s", .beside = "multiply-adds"},
                        [&]() -> std::optional<Measured> {
                          if (!rates.has_value()) return std::nullopt;
                          return Measured{rates->written, peak};
                        });
  measurements->Measure(
      {.what = "free order, F32, " + shape, .unit = "TFLOP/s", .beside = "cuBLAS fp32"},
      [&]() -> std::optional<Measured> {
        if (!rates.has_value()) return std::nullopt;
        return Measured{rates->free_order, rates->cublas};
      });
}

}  // namespace

void MeasureReads(const BenchSizes& sizes, Measurements* measurements) {
  double copy = 0;
  measurements->Measure(
      {.what = "copy within the device", .unit = "GB/s"}, [&]() -> std::optional<Measured> {
        CudaDevice device(nullptr);
        const std::optional<double> rate = CopyGigabytes(sizes.copy_bytes, device);
        if (!rate.has_value()) return std::nullopt;
        copy = *rate;
        return Measured{copy, 0};
      });
  for (const DataType type : kTypes) {
    measurements->Measure({.what = std::string("GEMV ") + WeightsName(type) + ", " +
                                   ShapeName(1, sizes.gemv_outputs, sizes.gemv_dim),
                           .unit = "GB/s",
                           .beside = "copy"},
                          [&] { return Gemv(type, sizes, copy); });
  }
  for (const BenchSizes::Attention& shape : sizes.attention) {
    measurements->Measure({.what = "attention BF16, " + std::to_string(shape.batch) + " x " +
                                   std::to_string(shape.context) + " positions",
                           .unit = "GB/s",
                           .beside = "copy"},
                          [&] { return Attention(sizes, shape, copy); });
  }
}

void MeasureProducts(const BenchSizes& sizes, const Cublas* cublas, Measurements* measurements) {
  const std::string shape = ShapeName(sizes.gemm_rows, sizes.gemm_outputs, sizes.gemm_dim);
  for (const DataType type : kTypes) {
    measurements->Measure({.what = std::string("GEMM ") + WeightsName(type) + ", " + shape,
                           .unit = "TFLOP/s",
                           .beside = type == DataType::kI8 ? "cuBLAS int8" : "cuBLAS fp32"},
                          [&] { return Gemm(type, sizes, cublas); });
  }
  double peak = 0;
  measurements->Measure({.what = "multiply-adds in registers, F32", .unit = "TFLOP/s"},
                        [&]() -> std::optional<Measured> {
                          const std::optional<double> rate = PeakTeraflops(sizes);
                          if (!rate.has_value()) return std::nullopt;
                          peak = *rate;
                          return Measured{peak, 0};
                        });
  MeasureOrders(shape, sizes, cublas, peak, measurements);
}

}  // namespace reenact::bench
