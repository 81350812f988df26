// cuBLAS as a yardstick, found when the program runs: nothing of the engine links it.

#ifndef REENACT_TOOLS_BENCH_CUDA_CUBLAS_H_
#define REENACT_TOOLS_BENCH_CUDA_CUBLAS_H_

#include <memory>

namespace reenact::bench {

enum class CublasKind { kFloat32, kBfloat16, kInt8 };

class Cublas {
 public:
  // Null where the library is not installed.
  static std::unique_ptr<Cublas> Find();
  ~Cublas();

  // y[rows][outputs] = x[rows][dim] w[outputs][dim], queued on the default stream. kFloat32 without
  // tensor cores; kBfloat16 sums in binary32; kInt8 gives int32. False when the library refuses.
  bool Multiply(CublasKind kind, const void* x, const void* w, void* y, int rows, int outputs,
                int dim) const;

 private:
  struct Functions;

  explicit Cublas(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
};

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_CUDA_CUBLAS_H_
