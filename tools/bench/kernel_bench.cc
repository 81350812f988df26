// kernel_bench [--isa NAME] [--threads N] [--rounds N] [--type F32|F16|BF16|Q8_0|I8]
//              [--dim K] [--outputs N]
// Matrix products of the local engine beside what the machine can do: products of many rows against
// the peak of fused multiply-adds, products of one row, over more weights than a cache holds,
// against the speed of reading memory. All are measured in turn in short pieces, and the best piece
// of each is what is compared: on a busy machine most pieces are disturbed, the best ones are not.
// Then attention, of a prompt and of one token far behind it, in the same way.

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
#include "local_engine/cpu/attention.h"
#include "local_engine/cpu/device.h"
#include "local_engine/cpu/isa.h"
#include "local_engine/cpu/machine_probe.h"
#include "local_engine/cpu/matrix.h"
#include "local_engine/cpu/matrix_product.h"

namespace {

using namespace reenact::local_engine;  // NOLINT: a program, not a header.

constexpr size_t kWeightBytes = size_t{1} << 30;  // In all matrices of a type.
constexpr size_t kReadFloats = size_t{1} << 24;   // 64 MiB a piece of reading.
constexpr size_t kReadMemoryFloats = 16 * kReadFloats;
constexpr size_t kRows[] = {1, 2, 4, 8, 16, 64, 512};

struct Options {
  CpuDeviceOptions device;
  int rounds = 40;
  size_t dim = 2048;
  size_t outputs = 8192;
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
std::vector<std::byte> RandomBytes(DataType type, size_t count) {
  const StorageUnit unit = StorageUnitOf(type);
  std::vector<std::byte> bytes(count / unit.values * unit.size_bytes);
  uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>((state >> 24) & 0x3f);
  }
  return bytes;
}

// As many as fill kWeightBytes.
std::vector<Matrix> Matrices(DataType type, const Options& options, CpuDevice& device) {
  const std::vector<std::byte> bytes = RandomBytes(type, options.outputs * options.dim);
  const Tensor tensor = {.name = "w",
                         .type = type,
                         .shape = {options.outputs, options.dim},
                         .data = bytes.data(),
                         .size_bytes = bytes.size()};
  Projection projection;
  projection.weight = &tensor;
  if (type == DataType::kI8) projection.row_scales.assign(options.outputs, 0.01f);
  std::vector<Matrix> matrices;
  while (matrices.size() * bytes.size() < kWeightBytes) {
    matrices.push_back(OrExit(Matrix::Make(projection, WeightPlacement::kPacked, device.pool())));
  }
  return matrices;
}

double SecondsOf(const Matrix& matrix, std::span<const float> x, size_t rows, CpuDevice& device,
                 std::span<float> y) {
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = Multiply(matrix, x.first(rows * matrix.input_dim()), rows, device, y);
  if (!status.ok()) OrExit(absl::StatusOr<int>(status));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void BenchType(DataType type, const Options& options, std::span<const float> memory,
               CpuDevice& device) {
  const std::vector<Matrix> matrices = Matrices(type, options, device);
  std::vector<float> x(options.dim * *std::max_element(std::begin(kRows), std::end(kRows)));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) * 0.01f - 0.05f;
  std::vector<float> y(x.size() / options.dim * options.outputs);
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
    const double rate =
        2.0 * static_cast<double>(kRows[i] * options.dim * options.outputs) / seconds[i];
    std::printf("  %3zu rows  %8.3f ms  %7.1f GFLOP/s (%3.0f %%)  %6.1f GB/s (%3.0f %%)\n",
                kRows[i], seconds[i] * 1e3, rate * 1e-9, 100 * rate / peak,
                bytes / seconds[i] * 1e-9, 100 * bytes / seconds[i] / read);
  }
}

// Keys and values of one KV head.
struct Cache {
  Cache(const KvBlockShape& shape, size_t positions) {
    const std::vector<float> row(shape.head_dim, 0.01f);
    for (size_t at = 0; at < positions; ++at) {
      if (at % 32 == 0) blocks.emplace_back(shape.SizeBytes());
      StoreKeyValue(shape, at % 32, row.data(), row.data(), blocks.back().data());
    }
    for (const std::vector<std::byte>& block : blocks) pointers.push_back(block.data());
  }

  std::vector<std::vector<std::byte>> blocks;
  std::vector<const void*> pointers;
};

// `rows` tokens, the last of which stands at position `end` - 1, with kKvHeads KV heads and
// kGroup query heads to each.
void BenchAttention(const KvBlockShape& shape, size_t rows, size_t end, int rounds,
                    CpuDevice& device) {
  constexpr size_t kKvHeads = 8, kGroup = 4;
  const std::vector<Cache> caches(kKvHeads, Cache(shape, end));
  const size_t row_dim = kGroup * shape.head_dim;
  const std::vector<float> queries(row_dim, 0.5f);
  std::vector<float> out(kKvHeads * rows * row_dim);
  std::vector<std::vector<AttentionRow>> of_heads(kKvHeads);
  std::vector<AttentionTask> tasks;
  double terms = 0;
  for (size_t head = 0; head < kKvHeads; ++head) {
    for (size_t row = 0; row < rows; ++row) {
      const size_t sees = end - rows + row + 1;
      terms += static_cast<double>(sees * kGroup);
      of_heads[head].push_back({.queries = queries.data(),
                                .out = &out[(head * rows + row) * row_dim],
                                .end = static_cast<int32_t>(sees)});
    }
    tasks.push_back({caches[head].pointers, of_heads[head]});
  }
  double peak = 0, seconds = 1e9;
  for (int round = 0; round < rounds; ++round) {
    peak = std::max(peak, OrExit(MeasureFmaRate(device)));
    const auto start = std::chrono::steady_clock::now();
    const absl::Status status = AttendTasks(tasks, shape, kGroup, 0.1f, device);
    if (!status.ok()) OrExit(absl::StatusOr<int>(status));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds = std::min(seconds, took.count());
  }
  const double rate = 4 * static_cast<double>(shape.head_dim) * terms / seconds;
  std::printf(
      "attention %-4s  head_dim %3zu  %3zu tokens up to %4zu  %8.3f ms  %6.1f GFLOP/s "
      "(%3.0f %%)\n",
      DataTypeName(shape.type), shape.head_dim, rows, end, seconds * 1e3, rate * 1e-9,
      100 * rate / peak);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--isa") == 0) options.device.isa = argv[i + 1];
    if (std::strcmp(argv[i], "--threads") == 0)
      options.device.thread_count = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--rounds") == 0) options.rounds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--dim") == 0) options.dim = std::strtoul(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--outputs") == 0) {
      options.outputs = std::strtoul(argv[i + 1], nullptr, 10);
    }
    if (std::strcmp(argv[i], "--type") == 0) options.type = argv[i + 1];
  }
  const std::unique_ptr<CpuDevice> device = OrExit(CpuDevice::Create(options.device));
  std::printf("kernels %s, %d threads, K %zu, N %zu, best of %d\n", IsaName(device->isa()),
              device->pool().thread_count(), options.dim, options.outputs, options.rounds);
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
  for (DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    if (!options.type.empty() && options.type != DataTypeName(type)) continue;
    for (size_t head_dim : {64, 128}) {
      BenchAttention({type, head_dim}, 512, 512, options.rounds, *device);
      BenchAttention({type, head_dim}, 1, 4096, options.rounds, *device);
    }
  }
}
