// kernel_bench [--isa NAME] [--threads N] [--rounds N] [--type F32|F16|BF16|Q8_0|I8]
// Matrix products of the local engine beside what the machine can do: products of many rows against
// the peak of fused multiply-adds, products of one row, over more weights than a cache holds,
// against the speed of reading memory. All are measured in turn in short pieces, and the best piece
// of each is what is compared: on a busy machine most pieces are disturbed, the best ones are not.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "local_engine/cpu/aligned_bytes.h"
#include "local_engine/cpu/device.h"
#include "local_engine/cpu/isa.h"
#include "local_engine/cpu/machine_probe.h"
#include "local_engine/cpu/matrix.h"
#include "local_engine/cpu/matrix_product.h"

namespace {

using namespace reenact::local_engine;  // NOLINT: a program, not a header.

constexpr size_t kDim = 2048;
constexpr size_t kOutputs = 8192;
constexpr size_t kWeightBytes = size_t{1} << 30;  // In all matrices of a type.
constexpr size_t kReadFloats = size_t{1} << 24;   // 64 MiB a piece of reading.
constexpr size_t kReadMemoryFloats = 16 * kReadFloats;
constexpr size_t kRows[] = {1, 2, 4, 8, 16, 64, 512};

struct Options {
  CpuDeviceOptions device;
  int rounds = 40;
  std::string type;
};

template <typename T>
T OrExit(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "kernel_bench: %s\n", std::string(value.status().message()).c_str());
    std::exit(2);
  }
  return *std::move(value);
}

// Weights of no meaning, with no subnormal or infinity among them.
std::vector<std::byte> RandomBytes(DataType type) {
  const StorageUnit unit = StorageUnitOf(type);
  std::vector<std::byte> bytes(kOutputs * kDim / unit.values * unit.size_bytes);
  uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>((state >> 24) & 0x3f);
  }
  return bytes;
}

// As many as fill kWeightBytes.
std::vector<Matrix> Matrices(DataType type, CpuDevice& device) {
  const std::vector<std::byte> bytes = RandomBytes(type);
  const Tensor tensor = {.name = "w",
                         .type = type,
                         .shape = {kOutputs, kDim},
                         .data = bytes.data(),
                         .size_bytes = bytes.size()};
  Projection projection;
  projection.weight = &tensor;
  if (type == DataType::kI8) projection.row_scales.assign(kOutputs, 0.01f);
  std::vector<Matrix> matrices;
  while (matrices.size() * bytes.size() < kWeightBytes) {
    matrices.push_back(OrExit(Matrix::Make(projection, WeightPlacement::kPacked, device.pool())));
  }
  return matrices;
}

double SecondsOf(const Matrix& matrix, std::span<const float> x, size_t rows, CpuDevice& device,
                 std::span<float> y) {
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = Multiply(matrix, x.first(rows * kDim), rows, device, y);
  if (!status.ok()) OrExit(absl::StatusOr<int>(status));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void BenchType(DataType type, const Options& options, std::span<const float> memory,
               CpuDevice& device) {
  const std::vector<Matrix> matrices = Matrices(type, device);
  std::vector<float> x(kDim * *std::max_element(std::begin(kRows), std::end(kRows)));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) * 0.01f - 0.05f;
  std::vector<float> y(x.size() / kDim * kOutputs);
  double peak = 0, read = 0;
  std::vector<double> seconds(std::size(kRows), 1e9);
  size_t next_matrix = 0, next_read = 0;
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < std::size(kRows); ++i) {
      peak = std::max(peak, OrExit(MeasureFmaRate(device)));
      const auto piece = memory.subspan(next_read, kReadFloats);
      next_read = (next_read + kReadFloats) % memory.size();
      read = std::max(read, OrExit(MeasureReadRate(piece, device)));
      // Another matrix each time: none is in a cache.
      const Matrix& matrix = matrices[next_matrix++ % matrices.size()];
      seconds[i] = std::min(seconds[i], SecondsOf(matrix, x, kRows[i], device, y));
    }
  }
  const auto bytes =
      static_cast<double>(matrices[0].panel_count() * matrices[0].panel_size_bytes());
  std::printf("%s: fma %.1f GFLOP/s, reading %.1f GB/s\n", DataTypeName(type), peak * 1e-9,
              read * 1e-9);
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const double rate = 2.0 * static_cast<double>(kRows[i] * kDim * kOutputs) / seconds[i];
    std::printf("  %3zu rows  %8.3f ms  %7.1f GFLOP/s (%3.0f %%)  %6.1f GB/s (%3.0f %%)\n",
                kRows[i], seconds[i] * 1e3, rate * 1e-9, 100 * rate / peak,
                bytes / seconds[i] * 1e-9, 100 * bytes / seconds[i] / read);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--isa") == 0) options.device.isa = argv[i + 1];
    if (std::strcmp(argv[i], "--threads") == 0)
      options.device.thread_count = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--rounds") == 0) options.rounds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--type") == 0) options.type = argv[i + 1];
  }
  const std::unique_ptr<CpuDevice> device = OrExit(CpuDevice::Create(options.device));
  std::printf("kernels %s, %d threads, K %zu, N %zu, best of %d\n", IsaName(device->isa()),
              device->pool().thread_count(), kDim, kOutputs, options.rounds);
  AlignedBytes large_pages;  // As the weights have them.
  const std::span<float> memory(
      reinterpret_cast<float*>(large_pages.AtLeast(kReadMemoryFloats * sizeof(float))),
      kReadMemoryFloats);
  std::fill(memory.begin(), memory.end(), 1.0f);
  for (DataType type :
       {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kQ8_0, DataType::kI8}) {
    if (options.type.empty() || options.type == DataTypeName(type)) {
      BenchType(type, options, memory, *device);
    }
  }
}
