// order_cost_bench [--isa avx2|avx512] [--threads N] [--rounds N] [--model 0.1b|1b]
// What the fixed order of profile n1 costs: the engine's product of binary32 weights beside one
// that may sum in any order, at the shapes of two models. The free one has to be fast to be a
// measure: where OpenBLAS was there at configure time, it must not be slower than that, or no cost
// is printed. All three run in turn, and costs are medians over the rounds; with one thread, its
// own processor time is measured, else time. OpenBLAS picks its kernels by OPENBLAS_CORETYPE.

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#if defined(REENACT_HAVE_OPENBLAS)
#include <cblas.h>
#endif

#include "absl/functional/function_ref.h"

#include "local_engine/cpu/aligned_bytes.h"
#include "local_engine/cpu/device.h"
#include "local_engine/cpu/isa.h"
#include "local_engine/cpu/matrix.h"
#include "local_engine/cpu/matrix_product.h"
#include "tools/bench/free_order_product.h"

namespace reenact::bench {
namespace {

using local_engine::AlignedBytes;
using local_engine::CpuDevice;
using local_engine::Matrix;

struct Shape {
  const char* model;
  const char* what;
  size_t dim, outputs;
};

constexpr Shape kShapes[] = {
    {"0.1b", "query, output", 768, 768}, {"0.1b", "key, value", 768, 256},
    {"0.1b", "gate, up", 768, 2048},     {"0.1b", "down", 2048, 768},
    {"1b", "query, output", 2048, 2048}, {"1b", "key, value", 2048, 512},
    {"1b", "gate, up", 2048, 8192},      {"1b", "down", 8192, 2048},
};
constexpr size_t kRowCounts[] = {1, 4, 16, 512};
constexpr size_t kBlockBytes = size_t{4} << 20;  // Of packed rows, as the engine has it.

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "order_cost_bench: %s\n", message.c_str());
  std::exit(2);
}

template <typename T>
T OrFail(absl::StatusOr<T> value) {
  if (!value.ok()) Fail(std::string(value.status().message()));
  return *std::move(value);
}

std::vector<float> Values(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 37 % 101) * 0.01f - 0.5f;
  return values;
}

// The free product, with the same division of work as the engine's.
class FreeOrderMatrix {
 public:
  FreeOrderMatrix(const float* weights, const Shape& shape) : shape_(shape) {
    auto* to = reinterpret_cast<float*>(packed_.AtLeast(shape.dim * shape.outputs * sizeof(float)));
    for (size_t panel = 0; panel < shape.outputs; panel += kFreeOrderOutputs) {
      for (size_t k = 0; k < shape.dim; ++k) {
        for (size_t n = 0; n < kFreeOrderOutputs; ++n) *to++ = weights[(panel + n) * shape.dim + k];
      }
    }
  }

  void Multiply(const FreeOrderKernels& kernels, const float* x, size_t rows, CpuDevice& device,
                float* y) {
    const size_t dim = shape_.dim;
    const size_t tiles = (rows + kernels.max_rows - 1) / kernels.max_rows;
    const auto begin = [&](size_t tile) { return rows * tile / tiles; };
    auto* packed = reinterpret_cast<float*>(device.ActivationScratch(rows * dim * sizeof(float)));
    const auto pack = [&](size_t tile, int) {
      kernels.pack(x + begin(tile) * dim, dim, begin(tile + 1) - begin(tile),
                   packed + begin(tile) * dim);
    };
    if (tiles > 1) {
      Check(device.pool().Run(tiles, pack));
    } else {
      pack(0, 0);
    }
    const size_t tile_bytes = (rows + tiles - 1) / tiles * dim * sizeof(float);
    const size_t at_once = std::clamp<size_t>(kBlockBytes / tile_bytes, 1, tiles);
    const size_t blocks = (tiles + at_once - 1) / at_once;
    const size_t panels = shape_.outputs / kFreeOrderOutputs;
    Check(device.pool().Run(blocks * panels, [&](size_t index, int) {
      const size_t panel = index % panels;
      const size_t first = index / panels * at_once;
      for (size_t tile = first; tile < std::min(first + at_once, tiles); ++tile) {
        kernels.multiply({.x = packed + begin(tile) * dim,
                          .panel = reinterpret_cast<const float*>(packed_.data()) +
                                   panel * kFreeOrderOutputs * dim,
                          .dim = dim,
                          .rows = static_cast<int>(begin(tile + 1) - begin(tile)),
                          .y = y + begin(tile) * shape_.outputs + panel * kFreeOrderOutputs,
                          .y_stride = shape_.outputs});
      }
    }));
  }

 private:
  static void Check(const absl::Status& status) {
    if (!status.ok()) Fail(std::string(status.message()));
  }

  Shape shape_;
  AlignedBytes packed_;
};

// What is common to all measurements.
struct Bench {
  CpuDevice& device;
  const FreeOrderKernels& free_order;
  int rounds;

  double Now() const {
    timespec now;
    clock_gettime(device.pool().thread_count() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC,
                  &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  double SecondsOf(size_t times, absl::FunctionRef<void()> work) const {
    const double start = Now();
    for (size_t i = 0; i < times; ++i) work();
    return (Now() - start) / static_cast<double>(times);
  }
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

void Compare(const Bench& bench, const Shape& shape) {
  const std::vector<float> weights = Values(shape.dim * shape.outputs);
  const local_engine::Tensor tensor = {.name = "w",
                                       .type = local_engine::DataType::kF32,
                                       .shape = {shape.outputs, shape.dim},
                                       .data = reinterpret_cast<const std::byte*>(weights.data()),
                                       .size_bytes = weights.size() * sizeof(float)};
  local_engine::Projection projection;
  projection.weight = &tensor;
  const Matrix matrix =
      OrFail(Matrix::Make(projection, local_engine::WeightPlacement::kPacked, bench.device.pool()));
  FreeOrderMatrix free_matrix(weights.data(), shape);
  for (size_t rows : kRowCounts) {
    const std::vector<float> x = Values(rows * shape.dim);
    std::vector<float> y(rows * shape.outputs);
    const double flops = 2.0 * static_cast<double>(rows * shape.dim * shape.outputs);
    const auto times = static_cast<size_t>(1 + 2e8 / flops);
    std::vector<double> n1, free_order, openblas, costs;
    for (int round = 0; round < bench.rounds; ++round) {
      n1.push_back(bench.SecondsOf(times, [&] {
        const absl::Status status = Multiply(matrix, x, rows, bench.device, y);
        if (!status.ok()) Fail(std::string(status.message()));
      }));
      free_order.push_back(bench.SecondsOf(times, [&] {
        free_matrix.Multiply(bench.free_order, x.data(), rows, bench.device, y.data());
      }));
      costs.push_back(n1.back() / free_order.back() - 1);
#if defined(REENACT_HAVE_OPENBLAS)
      const auto size = [](size_t value) { return static_cast<blasint>(value); };
      openblas.push_back(bench.SecondsOf(times, [&] {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(rows), size(shape.outputs),
                    size(shape.dim), 1.0f, x.data(), size(shape.dim), weights.data(),
                    size(shape.dim), 0.0f, y.data(), size(shape.outputs));
      }));
#endif
    }
    const auto rate = [&](const std::vector<double>& seconds) {
      return seconds.empty() ? 0.0
                             : flops * 1e-9 / *std::min_element(seconds.begin(), seconds.end());
    };
    const bool fast = openblas.empty() || rate(free_order) >= rate(openblas);
    std::printf("| %-4s | %-13s | %4zu | %4zu | %3zu | %6.1f | %6.1f | %6.1f | ", shape.model,
                shape.what, shape.dim, shape.outputs, rows, rate(n1), rate(free_order),
                rate(openblas));
    if (fast) {
      std::printf("%+5.1f %% |\n", 100 * Median(costs));
    } else {
      std::printf("no measure |\n");
    }
    std::fflush(stdout);
  }
}

int Main(int argc, char** argv) {
  local_engine::CpuDeviceOptions options = {.isa = "", .thread_count = 1, .pin = true};
  int rounds = 25;
  std::string model;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--isa") == 0) options.isa = argv[i + 1];
    if (std::strcmp(argv[i], "--threads") == 0) options.thread_count = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--model") == 0) model = argv[i + 1];
  }
  const std::unique_ptr<CpuDevice> device = OrFail(CpuDevice::Create(options));
  if (device->isa() != local_engine::Isa::kAvx2 && device->isa() != local_engine::Isa::kAvx512) {
    Fail("there is a product of free order for avx2 and avx512 only");
  }
  const Bench bench = {
      *device, device->isa() == local_engine::Isa::kAvx512 ? FreeOrderAvx512() : FreeOrderAvx2(),
      rounds};
  std::printf("kernels %s, %d threads, %d rounds, ", local_engine::IsaName(device->isa()),
              device->pool().thread_count(), rounds);
#if defined(REENACT_HAVE_OPENBLAS)
  openblas_set_num_threads(device->pool().thread_count());
  std::printf("OpenBLAS with its kernels for %s\n", openblas_get_corename());
#else
  std::printf("OpenBLAS was not there at configure time: the free order is held against nothing\n");
#endif
  std::printf(
      "| model | projection | K | N | rows | n1, GFLOP/s | free order | OpenBLAS | cost |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (const Shape& shape : kShapes) {
    if (model.empty() || model == shape.model) Compare(bench, shape);
  }
  return 0;
}

}  // namespace
}  // namespace reenact::bench

int main(int argc, char** argv) {
  return reenact::bench::Main(argc, argv);
}
