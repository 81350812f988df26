// A step as the device sees it: rows of all sequences one after the other, and where each stands.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CUDA_STEP_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CUDA_STEP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cuda/device.h"
#include "local_engine/cuda/device_memory.h"
#include "local_engine/cuda/rotate.h"
#include "local_engine/engine/backend.h"

namespace reenact::local_engine {

class CudaStep {
 public:
  struct Part {
    size_t index = 0;  // Of the sequence in the step.
    size_t first_row = 0;
    size_t row_count = 0;
    size_t first_logits = 0;
    size_t logits_count = 0;
  };

  // Sequences whose output has an error already are left out.
  void Make(std::span<const StepSequence> sequences, std::span<const SequenceOutput> outputs,
            CudaDevice& device);

  std::span<const Part> parts() const { return parts_; }

  size_t row_count() const { return positions_.size(); }

  size_t logits_count() const { return logits_rows_.size(); }

  std::span<const int32_t> positions() const { return positions_; }

  std::span<const int32_t> first_pages() const { return first_pages_; }

  // In device memory.

  std::span<const int32_t> tokens() const { return {numbers(), row_count()}; }

  // Rows [first, first + count).
  StepPositions Positions(size_t first, size_t count) const;

  std::span<const int32_t> logits_rows() const {
    return {numbers() + 3 * row_count(), logits_count()};
  }

  // Of each row, and then of each row of logits; see cuda/finite_check.h.
  int* faults() const { return faults_.As<int>(); }

  int* logits_faults() const { return faults() + row_count(); }

  // What was not finite, for each part whose output has no error yet; waits for the device.
  absl::Status TakeFaults(int32_t layer_count, CudaDevice& device,
                          std::vector<SequenceOutput>* outputs) const;

 private:
  const int32_t* numbers() const { return numbers_.As<int32_t>(); }

  std::vector<Part> parts_;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> positions_;
  std::vector<int32_t> first_pages_;
  std::vector<int32_t> logits_rows_;
  std::vector<int32_t> pages_;
  DeviceMemory numbers_;  // Tokens, positions, first pages, rows with logits, pages.
  DeviceMemory faults_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CUDA_STEP_H_
