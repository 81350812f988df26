#include "tools/bench/cuda/cublas.h"

#include <dlfcn.h>

#include <memory>
#include <utility>

namespace reenact::bench {
namespace {

// Values of cuBLAS's interface, which keeps them from release to release.
constexpr int kNotTransposed = 0;
constexpr int kTransposed = 1;
constexpr int kTypeFloat32 = 0;    // CUDA_R_32F
constexpr int kTypeInt8 = 3;       // CUDA_R_8I
constexpr int kTypeInt32 = 10;     // CUDA_R_32I
constexpr int kTypeBfloat16 = 14;  // CUDA_R_16BF
constexpr int kComputeFloat32 = 68;
constexpr int kComputeInt32 = 72;
constexpr int kDefaultAlgorithm = -1;

constexpr const char* kLibraries[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};

}  // namespace

struct Cublas::Functions {
  using Create = int (*)(void**);
  using Destroy = int (*)(void*);
  using GemmEx = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int,
                         const void*, int, int, const void*, void*, int, int, int, int);

  ~Functions() {
    if (handle != nullptr) destroy(handle);
  }

  void* handle = nullptr;
  Destroy destroy = nullptr;
  GemmEx gemm = nullptr;
};

std::unique_ptr<Cublas> Cublas::Find() {
  for (const char* name : kLibraries) {
    void* library = dlopen(name, RTLD_NOW);
    if (library == nullptr) continue;
    auto functions = std::make_unique<Functions>();
    const auto create = reinterpret_cast<Functions::Create>(dlsym(library, "cublasCreate_v2"));
    functions->destroy = reinterpret_cast<Functions::Destroy>(dlsym(library, "cublasDestroy_v2"));
    functions->gemm = reinterpret_cast<Functions::GemmEx>(dlsym(library, "cublasGemmEx"));
    if (create == nullptr || functions->destroy == nullptr || functions->gemm == nullptr) continue;
    if (create(&functions->handle) != 0) return nullptr;
    return std::unique_ptr<Cublas>(new Cublas(std::move(functions)));
  }
  return nullptr;
}

Cublas::Cublas(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Cublas::~Cublas() = default;

bool Cublas::Multiply(CublasKind kind, const void* x, const void* w, void* y, int rows, int outputs,
                      int dim) const {
  const bool bytes = kind == CublasKind::kInt8;
  const int type = bytes ? kTypeInt8 : kind == CublasKind::kFloat32 ? kTypeFloat32 : kTypeBfloat16;
  const int one = 1;
  const int zero = 0;
  const float one_float = 1;
  const float zero_float = 0;
  const void* alpha = bytes ? static_cast<const void*>(&one) : &one_float;
  const void* beta = bytes ? static_cast<const void*>(&zero) : &zero_float;
  // Columns first is what cuBLAS knows: y transposed = w x transposed.
  return functions_->gemm(functions_->handle, kTransposed, kNotTransposed, outputs, rows, dim,
                          alpha, w, type, dim, x, type, dim, beta, y,
                          bytes ? kTypeInt32 : kTypeFloat32, outputs,
                          bytes ? kComputeInt32 : kComputeFloat32, kDefaultAlgorithm) == 0;
}

}  // namespace reenact::bench
