// Weights in the form that the kernels multiply. The form is the same for every instruction set and
// has no say in the order of a sum: packed or in place, the bits are the same.

#ifndef REENACT_LOCAL_ENGINE_CPU_MATRIX_H_
#define REENACT_LOCAL_ENGINE_CPU_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/aligned_bytes.h"
#include "local_engine/cpu/worker_pool.h"
#include "local_engine/model/model_weights.h"

namespace reenact::local_engine {

enum class WeightPlacement {
  kPacked,               // A copy, arranged for the kernels.
  kPackedSourceDropped,  // The same; pages of the source are given back as soon as they were read.
                         // Only for tensors in a mapped file, whose pages come back when touched.
  kInPlace,              // The file's own bytes; panels are packed when they are used.
};

// y = W x + bias for one projection.
//
// A panel holds 32 outputs. For F32, F16 and BF16 it is, for each of the 32 classes of the sum in
// bit-reversed order, and each 64 values of K:
//   F32, F16   [k even, k odd][32 outputs]
//   BF16       [32 outputs][k even, k odd]
// and for Q8_0, for each group of 32 in the order of its four classes, or I8 as one group:
//   [quads of k][32 outputs][4 values of k], biased by 128; Q8_0 then has [32 outputs] scales
// so that a kernel reads it once from the first byte to the last. K is padded with zeros, as the
// order of the sum asks; missing outputs of the last panel are zeros and are not written.
class Matrix {
 public:
  // `projection`'s tensor must outlive a matrix in place. FailedPrecondition is that of
  // WorkerPool::Run.
  static absl::StatusOr<Matrix> Make(const Projection& projection, WeightPlacement placement,
                                     WorkerPool& pool);

  DataType type() const { return type_; }

  size_t output_dim() const { return output_dim_; }

  size_t input_dim() const { return input_dim_; }

  bool in_place() const { return packed_.data() == nullptr; }

  size_t panel_count() const;
  size_t panel_size_bytes() const;

  // The packed panel, made in `scratch` (panel_size_bytes()) when the matrix is in place.
  const std::byte* Panel(size_t index, std::byte* scratch) const;

  // The weights of one output as they lie in the file.
  const std::byte* Row(size_t output) const;

  // [output_dim], or null.
  const float* bias() const { return bias_.empty() ? nullptr : bias_.data(); }

  const float* row_scales() const { return row_scales_.empty() ? nullptr : row_scales_.data(); }

 private:
  Matrix() = default;
  void PackPanel(size_t index, std::byte* to) const;

  DataType type_ = DataType::kF32;
  size_t output_dim_ = 0;
  size_t input_dim_ = 0;
  size_t interleaved_head_dim_ = 0;
  const std::byte* source_ = nullptr;
  size_t row_size_bytes_ = 0;
  std::vector<float> bias_;
  std::vector<float> row_scales_;  // In the order of the outputs.
  AlignedBytes packed_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_MATRIX_H_
