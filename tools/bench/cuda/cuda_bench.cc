// Speed of the CUDA kernels and of a whole model on them, each beside what the same device does
// otherwise in the same run: a copy, cuBLAS, the same kernel in free order.
//
//   cuda_bench [--json FILE] [--seconds N] [--check TEXT]... [--dry-run | --small]
//
// The file is written anew after each section: what ends the program loses one section at most.
// --check is what was checked on this device before, and stands above the measurements. A section
// that is out of time leaves out what it has not begun, and nothing is begun after
// --seconds, 270 where nothing else is asked for. --dry-run lists the measurements. --small has
// sizes for a device that is emulated. Exit codes: 0, 1 something failed, 2 usage, 77 no device.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/cuda/find_device.h"
#include "tools/bench/cuda/bench_device.h"
#include "tools/bench/cuda/cublas.h"
#include "tools/bench/cuda/kernel_measurements.h"
#include "tools/bench/cuda/measurements.h"
#include "tools/bench/cuda/model_measurements.h"

namespace reenact::bench {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kSkipped = 77;

struct Options {
  std::string json;
  std::vector<std::string> checks;
  bool dry_run = false;
  bool small = false;
  double seconds = 270;
};

bool ReadOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--dry-run") == 0) {
      options->dry_run = true;
    } else if (std::strcmp(argv[i], "--small") == 0) {
      options->small = true;
    } else if (std::strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
      options->json = argv[++i];
    } else if (std::strcmp(argv[i], "--check") == 0 && i + 1 < argc) {
      options->checks.emplace_back(argv[++i]);
    } else if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      options->seconds = std::atof(argv[++i]);
    } else {
      std::fprintf(stderr,
                   "usage: cuda_bench [--json FILE] [--seconds N] [--check TEXT]... [--dry-run | "
                   "--small]\n");
      return false;
    }
  }
  return true;
}

bool WriteJson(const std::string& path, const Subject& subject, const Measurements& measurements) {
  if (path.empty()) return true;
  std::ofstream file(path);
  file << JsonOf(subject, measurements.all());
  if (file.flush()) return true;
  std::fprintf(stderr, "cannot write %s\n", path.c_str());
  return false;
}

int Run(const Options& options) {
  Subject subject = {.device = "no device", .checks = options.checks};
  if (!options.dry_run) {
    const absl::StatusOr<local_engine::CudaDeviceInfo> found = local_engine::FindCudaDevice();
    if (!found.ok()) {
      std::printf("skipped: no GPU: %s\n", std::string(found.status().message()).c_str());
      return kSkipped;
    }
    subject.device = found->name;
  }
  const std::unique_ptr<Cublas> cublas =
      options.dry_run || options.small ? nullptr : Cublas::Find();
  const BenchSizes sizes = options.small ? BenchSizes::Small() : BenchSizes();
  Measurements measurements(options.dry_run, options.seconds, SecondsNow);
  measurements.BeginSection("memory", 40);
  MeasureReads(sizes, &measurements);
  if (!WriteJson(options.json, subject, measurements)) return kUsage;
  measurements.BeginSection("products of many rows", 40);
  MeasureProducts(sizes, cublas.get(), &measurements);
  if (!WriteJson(options.json, subject, measurements)) return kUsage;
  for (const auto type : {local_engine::DataType::kBF16, local_engine::DataType::kI8}) {
    measurements.BeginSection(std::string("a model of 8 billion parameters, ") + WeightsName(type),
                              90);
    MeasureModel(type, sizes, cublas.get(), &measurements);
    if (!WriteJson(options.json, subject, measurements)) return kUsage;
  }
  std::fputs(TableOf(subject, measurements.all()).c_str(), stdout);
  return measurements.any_failed() ? kFailed : 0;
}

}  // namespace
}  // namespace reenact::bench

int main(int argc, char** argv) {
  reenact::bench::Options options;
  if (!reenact::bench::ReadOptions(argc, argv, &options)) return reenact::bench::kUsage;
  return reenact::bench::Run(options);
}
