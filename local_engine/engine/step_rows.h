// The tokens of a step as rows of one matrix: those of all sequences that are still sound, one
// after the other.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_STEP_ROWS_H_
#define REENACT_LOCAL_ENGINE_ENGINE_STEP_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cpu/device.h"
#include "local_engine/engine/backend.h"

namespace reenact::local_engine {

// A matrix of activations, [rows][dim]; its memory stays for the next step.
class RowBuffer {
 public:
  explicit RowBuffer(size_t dim) : dim_(dim) {}

  size_t dim() const { return dim_; }

  // The first `count` rows; what they hold is unspecified where there were fewer before.
  std::span<float> Rows(size_t count) {
    if (values_.size() < count * dim_) values_.resize(count * dim_);
    return std::span(values_).first(count * dim_);
  }

  std::span<float> Row(size_t row) { return std::span(values_).subspan(row * dim_, dim_); }

 private:
  size_t dim_;
  std::vector<float> values_;
};

// An output for each sequence, without logits yet. OutOfRange in those that hold a token which is
// not in the vocabulary, or reach beyond `max_positions`.
void BeginOutputs(std::span<const StepSequence> sequences, const ModelConfig& config,
                  int32_t max_positions, std::vector<SequenceOutput>* outputs);

class StepRows {
 public:
  struct Part {
    size_t index = 0;      // Of the sequence in the step.
    size_t first_row = 0;  // Of its tokens.
    size_t row_count = 0;
  };

  // Both outlive it. Sequences whose output has an error already are left out.
  StepRows(std::span<const StepSequence> sequences, std::vector<SequenceOutput>* outputs);

  size_t count() const { return positions_.size(); }

  std::span<const Part> parts() const { return parts_; }

  const StepSequence& SequenceOf(const Part& part) const { return sequences_[part.index]; }

  std::span<const int32_t> positions() const { return positions_; }  // [count]

  // One for each row; null in n1.
  std::span<const StockSettings* const> settings() const { return settings_; }

  // Ends each sequence with a row of `checked` that holds something not finite: its output says so,
  // and its rows leave this object and the buffers `kept`, of which `checked` is one where it is
  // read again. Errors are those of CpuDevice::Run.
  absl::Status EndUnsound(int32_t layer, const char* what, RowBuffer* checked,
                          std::initializer_list<RowBuffer*> kept, CpuDevice& device);

 private:
  void Keep(std::span<const Part> sound, std::initializer_list<RowBuffer*> buffers);

  std::span<const StepSequence> sequences_;
  std::vector<SequenceOutput>* outputs_;
  std::vector<Part> parts_;
  std::vector<int32_t> positions_;
  std::vector<const StockSettings*> settings_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_STEP_ROWS_H_
