#include "local_engine/engine/step_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cpu/elementwise.h"

namespace reenact::local_engine {
namespace {

absl::Status CheckRange(const StepSequence& sequence, const ModelConfig& config,
                        int32_t max_positions) {
  for (int32_t token : sequence.tokens) {
    if (token < 0 || token >= config.vocabulary_size) {
      return absl::OutOfRangeError("token " + std::to_string(token) +
                                   " is not in a vocabulary of " +
                                   std::to_string(config.vocabulary_size));
    }
  }
  const int64_t end = int64_t{sequence.first_position} + std::ssize(sequence.tokens);
  if (end > max_positions) {
    return absl::OutOfRangeError("position " + std::to_string(end - 1) + " is beyond the " +
                                 std::to_string(max_positions) + " that were made ready");
  }
  return absl::OkStatus();
}

}  // namespace

void BeginOutputs(std::span<const StepSequence> sequences, const ModelConfig& config,
                  int32_t max_positions, std::vector<SequenceOutput>* outputs) {
  outputs->assign(sequences.size(), {});
  for (size_t i = 0; i < sequences.size(); ++i) {
    (*outputs)[i].status = CheckRange(sequences[i], config, max_positions);
  }
}

StepRows::StepRows(std::span<const StepSequence> sequences, std::vector<SequenceOutput>* outputs)
    : sequences_(sequences), outputs_(outputs) {
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (!(*outputs)[i].status.ok()) continue;
    const StepSequence& sequence = sequences[i];
    parts_.push_back({i, positions_.size(), sequence.tokens.size()});
    for (size_t row = 0; row < sequence.tokens.size(); ++row) {
      positions_.push_back(sequence.first_position + static_cast<int32_t>(row));
      settings_.push_back(sequence.stock_settings);
    }
  }
}

absl::Status StepRows::EndUnsound(int32_t layer, const char* what, RowBuffer* checked,
                                  std::initializer_list<RowBuffer*> kept, CpuDevice& device) {
  std::vector<uint8_t> finite(count());  // Not of bool: rows are checked by several threads.
  absl::Status status = device.Run(count(), checked->dim() / 4, [&](size_t row, int) {
    finite[row] = AllFinite(checked->Row(row), device) ? 1 : 0;
  });
  if (!status.ok()) return status;
  std::vector<Part> sound;
  for (const Part& part : parts_) {
    const auto begin = finite.begin() + static_cast<ptrdiff_t>(part.first_row);
    const auto end = begin + static_cast<ptrdiff_t>(part.row_count);
    if (std::find(begin, end, 0) == end) {
      sound.push_back(part);
      continue;
    }
    (*outputs_)[part.index].status = absl::InternalError(
        "layer " + std::to_string(layer) + ": the " + what + " holds a value that is not finite");
  }
  if (sound.size() < parts_.size()) Keep(sound, kept);
  return absl::OkStatus();
}

void StepRows::Keep(std::span<const Part> sound, std::initializer_list<RowBuffer*> buffers) {
  std::vector<Part> moved;
  std::vector<int32_t> positions;
  std::vector<const StockSettings*> settings;
  for (const Part& part : sound) {
    const size_t to = positions.size();
    for (size_t row = 0; row < part.row_count; ++row) {
      positions.push_back(positions_[part.first_row + row]);
      settings.push_back(settings_[part.first_row + row]);
      for (RowBuffer* buffer : buffers) {
        const std::span<float> from = buffer->Row(part.first_row + row);
        std::copy(from.begin(), from.end(), buffer->Row(to + row).begin());
      }
    }
    moved.push_back({part.index, to, part.row_count});
  }
  parts_ = moved;
  positions_ = positions;
  settings_ = settings;
}

}  // namespace reenact::local_engine
