#include "local_engine/engine/cuda_step.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cuda/finite_check.h"
#include "local_engine/engine/cuda_weights.h"

namespace reenact::local_engine {
namespace {

// As the other backends say it.
absl::Status NotFinite(int code, int32_t layer_count) {
  const int layer = code / kFaultsOfLayer;
  static constexpr const char* kWhat[] = {"key cache",
                                          "value cache",
                                          "query",
                                          "residual after attention",
                                          "gated activation",
                                          "residual after the feed-forward layer"};
  const char* what = layer == layer_count ? "row of logits" : kWhat[code % kFaultsOfLayer];
  return absl::InternalError("layer " + std::to_string(layer) + ": the " + what +
                             " holds a value that is not finite");
}

}  // namespace

void CudaStep::Make(std::span<const StepSequence> sequences,
                    std::span<const SequenceOutput> outputs, CudaDevice& device) {
  parts_.clear();
  for (std::vector<int32_t>* list :
       {&tokens_, &positions_, &first_pages_, &logits_rows_, &pages_}) {
    list->clear();
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (!outputs[i].status.ok()) continue;
    const StepSequence& sequence = sequences[i];
    const size_t count = sequence.tokens.size();
    const auto logits_count = static_cast<size_t>(sequence.logits_count);
    const size_t first = positions_.size();
    parts_.push_back({i, first, count, logits_rows_.size(), logits_count});
    tokens_.insert(tokens_.end(), sequence.tokens.begin(), sequence.tokens.end());
    for (size_t row = 0; row < count; ++row) {
      positions_.push_back(sequence.first_position + static_cast<int32_t>(row));
      first_pages_.push_back(static_cast<int32_t>(pages_.size()));
      if (row + logits_count >= count) logits_rows_.push_back(static_cast<int32_t>(first + row));
    }
    pages_.insert(pages_.end(), sequence.pages.begin(), sequence.pages.end());
  }
  std::vector<int32_t> numbers;
  for (const std::vector<int32_t>* list :
       {&tokens_, &positions_, &first_pages_, &logits_rows_, &pages_}) {
    numbers.insert(numbers.end(), list->begin(), list->end());
  }
  if (!device.Reserve(numbers.size() * sizeof(int32_t), &numbers_)) return;
  device.Copy(numbers_.As<void>(), numbers.data(), numbers.size() * sizeof(int32_t));
  const size_t fault_bytes = (row_count() + logits_count()) * sizeof(int);
  if (!device.Reserve(fault_bytes, &faults_)) return;
  device.Fill(faults_.As<void>(), kNoFault & 0xff, fault_bytes);
}

StepPositions CudaStep::Positions(size_t first, size_t count) const {
  const size_t rows = row_count();
  return {.row_count = static_cast<int>(count),
          .positions = numbers() + rows + first,
          .first_pages = numbers() + 2 * rows + first,
          .pages = numbers() + 3 * rows + logits_count()};
}

absl::Status CudaStep::TakeFaults(int32_t layer_count, CudaDevice& device,
                                  std::vector<SequenceOutput>* outputs) const {
  std::vector<int> faults(row_count() + logits_count());
  device.Copy(faults.data(), this->faults(), faults.size() * sizeof(int));
  if (const cudaError_t error = device.Wait(); error != cudaSuccess) {
    return StatusOfCuda(error, "a step");
  }
  for (const Part& part : parts_) {
    int first = kNoFault;
    for (size_t i = 0; i < part.row_count; ++i) {
      first = std::min(first, faults[part.first_row + i]);
    }
    for (size_t i = 0; i < part.logits_count; ++i) {
      first = std::min(first, faults[row_count() + part.first_logits + i]);
    }
    if (first != kNoFault) (*outputs)[part.index].status = NotFinite(first, layer_count);
  }
  return absl::OkStatus();
}

}  // namespace reenact::local_engine
