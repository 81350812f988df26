// Speed of the CUDA kernels: products with one row (GB/s of weights), products with many (TFLOP/s),
// attention of a batch (GB/s of keys and values), each beside a copy within the device and cuBLAS
// in the same run. Values do not matter to speed, but zeros would: weights are random bytes of
// small numbers.
//
//   cuda_bench [--json FILE]
//
// Exit code 77 without a device.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/cuda/attention.h"
#include "local_engine/cuda/device.h"
#include "local_engine/cuda/find_device.h"
#include "local_engine/cuda/matrix.h"
#include "local_engine/cuda/matrix_product.h"
#include "tools/bench/cublas.h"

namespace reenact::bench {
namespace {

using local_engine::AttentionPlan;
using local_engine::AttentionRows;
using local_engine::CudaDevice;
using local_engine::CudaMatrix;
using local_engine::DataType;
using local_engine::DeviceMemory;
using local_engine::KvCache;
using local_engine::Product;
using local_engine::Projection;
using local_engine::Tensor;

constexpr int kSkipped = 77;
constexpr int kRepeats = 20;

struct Measurement {
  std::string what;
  std::string unit;
  double value = 0;
  std::string beside;  // What `other` is.
  double other = 0;    // 0: not measured.
};

// Milliseconds of one call, the median of several; negative when something failed.
double Milliseconds(CudaDevice& device, const std::function<void()>& queue) {
  cudaEvent_t begin;
  cudaEvent_t end;
  if (cudaEventCreate(&begin) != cudaSuccess || cudaEventCreate(&end) != cudaSuccess) return -1;
  queue();  // Warms up, and makes the scratch memory.
  std::vector<float> times;
  for (int i = 0; i < kRepeats; ++i) {
    cudaEventRecord(begin, nullptr);
    queue();
    cudaEventRecord(end, nullptr);
    float elapsed = -1;
    if (device.Wait() != cudaSuccess || cudaEventElapsedTime(&elapsed, begin, end) != cudaSuccess)
      return -1;
    times.push_back(elapsed);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

// Values of a small size in every type: exponents near one, all scales near one.
std::vector<std::byte> RandomBytes(DataType type, size_t count) {
  uint64_t state = 0x9e3779b97f4a7c15u;
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = static_cast<std::byte>(state >> 56);
  }
  const size_t value_bytes = type == DataType::kF32 ? 4 : 2;
  if (type == DataType::kF32 || type == DataType::kBF16) {
    for (size_t i = value_bytes - 1; i < count; i += value_bytes) bytes[i] = std::byte{0x3c};
  }
  return bytes;
}

struct Weights {
  std::vector<std::byte> bytes;
  Tensor tensor;
  Projection projection;
  CudaMatrix matrix;
};

std::unique_ptr<Weights> MakeWeights(DataType type, size_t outputs, size_t dim,
                                     CudaDevice& device) {
  auto weights = std::make_unique<Weights>();
  const size_t row_bytes = type == DataType::kF32    ? 4 * dim
                           : type == DataType::kBF16 ? 2 * dim
                           : type == DataType::kQ8_0 ? dim / 32 * 34
                                                     : dim;
  weights->bytes = RandomBytes(type, outputs * row_bytes);
  if (type == DataType::kQ8_0) {
    for (size_t i = 1; i < weights->bytes.size(); i += 34) weights->bytes[i] = std::byte{0x20};
  }
  weights->tensor = {.name = "w", .type = type, .shape = {outputs, dim}};
  weights->tensor.data = weights->bytes.data();
  weights->tensor.size_bytes = weights->bytes.size();
  weights->projection.weight = &weights->tensor;
  if (type == DataType::kI8) weights->projection.row_scales.assign(outputs, 0.01f);
  if (CudaMatrix::Make(weights->projection, device, &weights->matrix) != cudaSuccess)
    return nullptr;
  return weights;
}

const char* TypeName(DataType type) {
  return type == DataType::kF32    ? "F32"
         : type == DataType::kBF16 ? "BF16"
         : type == DataType::kQ8_0 ? "Q8_0"
                                   : "W8A8";
}

class Bench {
 public:
  Bench() : device_(nullptr), cublas_(Cublas::Find()) {}

  // Bytes read and written, so that a product that only reads is held to the same bandwidth.
  void Copy() {
    constexpr size_t kBytes = size_t{1} << 30;
    DeviceMemory from;
    DeviceMemory to;
    if (!device_.Reserve(kBytes, &from) || !device_.Reserve(kBytes, &to)) return Failed("copy");
    const double time =
        Milliseconds(device_, [&] { device_.Copy(to.As<void>(), from.As<void>(), kBytes); });
    copy_ = 2 * static_cast<double>(kBytes) / time / 1e6;
    results_.push_back({"copy within the device", "GB/s", copy_, "", 0});
  }

  void Product(DataType type, size_t rows, size_t outputs, size_t dim) {
    const std::unique_ptr<Weights> weights = MakeWeights(type, outputs, dim, device_);
    DeviceMemory x;
    DeviceMemory y;
    const std::string what = std::string(TypeName(type)) + ", " + std::to_string(rows) + " x " +
                             std::to_string(outputs) + " x " + std::to_string(dim);
    if (weights == nullptr || !device_.Reserve(rows * dim * sizeof(float), &x) ||
        !device_.Reserve(rows * outputs * sizeof(float), &y)) {
      return Failed(what);
    }
    const std::vector<float> ones(rows * dim, 0.5f);
    device_.Copy(x.As<void>(), ones.data(), ones.size() * sizeof(float));
    const local_engine::Product product = {&weights->matrix, {y.As<float>(), rows * outputs}};
    const double time = Milliseconds(device_, [&] {
      Multiply({&product, 1}, {.x = {x.As<float>(), rows * dim}, .rows = rows}, device_);
    });
    if (time <= 0) return Failed(what);
    if (rows == 1) {
      const double bytes = static_cast<double>(weights->bytes.size());
      results_.push_back({"GEMV " + what, "GB/s", bytes / time / 1e6, "copy", copy_});
      return;
    }
    const double operations = 2.0 * static_cast<double>(rows * outputs) * static_cast<double>(dim);
    const char* beside = type == DataType::kI8 ? "cuBLAS int8" : "cuBLAS fp32";
    results_.push_back({"GEMM " + what, "TFLOP/s", operations / time / 1e9, beside,
                        operations / CublasMilliseconds(type, rows, outputs, dim) / 1e9});
  }

  // Decode of `batch` sequences with `context` positions each: 32 query heads over 8 KV heads of
  // 128, BF16.
  void Attention(int batch, int context) {
    constexpr int kHeads = 32;
    constexpr int kHeadDim = 128;
    KvCache cache = {
        .type = DataType::kBF16, .layer_count = 1, .kv_head_count = 8, .head_dim = kHeadDim};
    const int pages = context / local_engine::kKvPagePositions;
    std::vector<int32_t> tables(static_cast<size_t>(batch * pages));
    std::vector<int32_t> positions(batch, context - 1);
    std::vector<int32_t> first_pages(batch);
    for (size_t i = 0; i < tables.size(); ++i) tables[i] = static_cast<int32_t>(i);
    for (int i = 0; i < batch; ++i) first_pages[i] = i * pages;
    const std::string what =
        "attention, " + std::to_string(batch) + " x " + std::to_string(context);
    const size_t cache_bytes = KvPageBytes(cache) * tables.size();
    const size_t row_bytes = sizeof(float) * static_cast<size_t>(batch) * kHeads * kHeadDim;
    DeviceMemory kv, queries, out, of_positions, of_first_pages, of_tables;
    const bool reserved = device_.Reserve(cache_bytes, &kv) &&
                          device_.Reserve(row_bytes, &queries) &&
                          device_.Reserve(row_bytes, &out) && Upload(positions, &of_positions) &&
                          Upload(first_pages, &of_first_pages) && Upload(tables, &of_tables);
    if (!reserved) return Failed(what);
    device_.Fill(kv.As<void>(), 0x3c, cache_bytes);
    device_.Fill(queries.As<void>(), 0x3c, row_bytes);
    cache.pages = kv.As<unsigned char>();
    AttentionPlan plan;
    plan.Make(positions, first_pages, kHeads / cache.kv_head_count, device_);
    const local_engine::StepPositions step = {
        batch, of_positions.As<int32_t>(), of_first_pages.As<int32_t>(), of_tables.As<int32_t>()};
    const AttentionRows rows = {.queries = queries.As<float>(),
                                .out = out.As<float>(),
                                .head_count = kHeads,
                                .layer = 0,
                                .window = 0,
                                .scale = 0.088f};
    const double time =
        Milliseconds(device_, [&] { AttendRows(step, rows, plan, cache, device_); });
    if (time <= 0) return Failed(what);
    results_.push_back(
        {what, "GB/s", static_cast<double>(cache_bytes) / time / 1e6, "copy", copy_});
  }

  const std::vector<Measurement>& results() const { return results_; }

  bool failed() const { return failed_; }

 private:
  bool Upload(const std::vector<int32_t>& values, DeviceMemory* memory) {
    const size_t size_bytes = values.size() * sizeof(int32_t);
    if (!device_.Reserve(size_bytes, memory)) return false;
    device_.Copy(memory->As<void>(), values.data(), size_bytes);
    return true;
  }

  // Infinite, so that its speed is 0, where the library is missing or refuses.
  double CublasMilliseconds(DataType type, size_t rows, size_t outputs, size_t dim) {
    constexpr double kNever = 1e300;
    const bool bytes = type == DataType::kI8;
    const size_t value_bytes = bytes ? 1 : sizeof(float);
    DeviceMemory x, w, y;
    if (cublas_ == nullptr || !device_.Reserve(rows * dim * value_bytes, &x) ||
        !device_.Reserve(outputs * dim * value_bytes, &w) ||
        !device_.Reserve(rows * outputs * sizeof(float), &y)) {
      return kNever;
    }
    device_.Fill(x.As<void>(), 0x3c, rows * dim * value_bytes);
    device_.Fill(w.As<void>(), 0x3c, outputs * dim * value_bytes);
    bool refused = false;
    const double time = Milliseconds(device_, [&] {
      refused |= !cublas_->Multiply(bytes ? CublasKind::kInt8 : CublasKind::kFloat32, x.As<void>(),
                                    w.As<void>(), y.As<void>(), static_cast<int>(rows),
                                    static_cast<int>(outputs), static_cast<int>(dim));
    });
    return refused || time <= 0 ? kNever : time;
  }

  void Failed(const std::string& what) {
    std::fprintf(stderr, "%s failed: %s\n", what.c_str(), cudaGetErrorString(device_.Wait()));
    failed_ = true;
  }

  CudaDevice device_;
  std::unique_ptr<Cublas> cublas_;
  std::vector<Measurement> results_;
  double copy_ = 0;
  bool failed_ = false;
};

void PrintTable(const std::string& device, const std::vector<Measurement>& results) {
  std::printf("%s\n%-38s %10s %-8s %s\n", device.c_str(), "what", "measured", "unit", "beside");
  for (const Measurement& result : results) {
    std::printf("%-38s %10.1f %-8s", result.what.c_str(), result.value, result.unit.c_str());
    if (result.other > 0) {
      std::printf(" %s %.1f (%.0f %%)", result.beside.c_str(), result.other,
                  100 * result.value / result.other);
    } else if (!result.beside.empty()) {
      std::printf(" %s not measured", result.beside.c_str());
    }
    std::printf("\n");
  }
}

bool WriteJson(const std::string& path, const std::string& device,
               const std::vector<Measurement>& results) {
  std::ofstream file(path);
  file << "{\"device\": \"" << device << "\", \"results\": [";
  for (size_t i = 0; i < results.size(); ++i) {
    const Measurement& result = results[i];
    file << (i == 0 ? "" : ",") << "\n  {\"what\": \"" << result.what << "\", \"unit\": \""
         << result.unit << "\", \"value\": " << result.value << ", \"beside\": \"" << result.beside
         << "\", \"other\": " << result.other << "}";
  }
  file << "\n]}\n";
  return file.good();
}

// The projections of a model of 8 billion parameters, alone and for a prefill, and its attention.
int Run(const std::string& json) {
  const absl::StatusOr<local_engine::CudaDeviceInfo> device = local_engine::FindCudaDevice();
  if (!device.ok()) {
    std::printf("skipped: no GPU: %s\n", std::string(device.status().message()).c_str());
    return kSkipped;
  }
  constexpr DataType kTypes[] = {DataType::kF32, DataType::kBF16, DataType::kQ8_0, DataType::kI8};
  Bench bench;
  bench.Copy();
  for (DataType type : kTypes) bench.Product(type, 1, 14336, 4096);
  for (DataType type : kTypes) bench.Product(type, 2048, 4096, 4096);
  bench.Attention(32, 4096);
  bench.Attention(128, 1024);
  bench.Attention(1, 4096);
  PrintTable(device->name, bench.results());
  if (!json.empty() && !WriteJson(json, device->name, bench.results())) {
    std::fprintf(stderr, "cannot write %s\n", json.c_str());
    return 2;
  }
  return bench.failed() ? 1 : 0;
}

}  // namespace
}  // namespace reenact::bench

int main(int argc, char** argv) {
  std::string json;
  if (argc == 3 && std::strcmp(argv[1], "--json") == 0) {
    json = argv[2];
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: cuda_bench [--json FILE]\n");
    return 2;
  }
  return reenact::bench::Run(json);
}
