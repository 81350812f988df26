#include "local_engine/cpu/matrix.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/internal/panel_layout.h"
#include "local_engine/numerics/q8_block.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {
namespace {

// Gives back the whole pages in [begin, end).
void DropPages(const std::byte* begin, const std::byte* end) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
  const uintptr_t last = reinterpret_cast<uintptr_t>(end) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

std::byte Biased(int8_t weight) {
  return static_cast<std::byte>(static_cast<uint8_t>(weight) ^ 0x80u);
}

// The rows of a panel in their file; what is missing is zero.
template <typename Element>
struct PanelRows {
  const Element* rows[kPanelOutputs];  // Null: no such output.
  size_t dim;                          // Elements of a row.

  Element At(int output, size_t k) const {
    return rows[output] != nullptr && k < dim ? rows[output][k] : Element{};
  }
};

template <typename Element>
void PackFloatPanel(const PanelRows<Element>& source, bool pairs_together, Element* to) {
  const size_t chunks = FloatChunkCount(source.dim);
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    for (int sequence = 0; sequence < kDotClasses; ++sequence) {
      const size_t k = chunk * kDotChunk + 2 * static_cast<size_t>(BitReversed(sequence));
      Element* pair =
          to + (static_cast<size_t>(sequence) * chunks + chunk) * 2 * size_t{kPanelOutputs};
      for (int n = 0; n < kPanelOutputs; ++n) {
        pair[pairs_together ? 2 * n : n] = source.At(n, k);
        pair[pairs_together ? 2 * n + 1 : kPanelOutputs + n] = source.At(n, k + 1);
      }
    }
  }
}

void PackQ8Panel(const PanelRows<Q8Block>& source, std::byte* to) {
  for (int place = 0; place < kQ8Classes; ++place) {
    for (size_t group = static_cast<size_t>(Q8ClassAt(place)); group < source.dim;
         group += kQ8Classes) {
      auto* scales = reinterpret_cast<uint16_t*>(to + kQ8Group * kPanelOutputs);
      for (size_t n = 0; n < kPanelOutputs; ++n) {
        const Q8Block block = source.At(static_cast<int>(n), group);
        scales[n] = block.scale_fp16;
        for (size_t k = 0; k < kQ8Group; ++k) {
          to[k / 4 * 4 * kPanelOutputs + 4 * n + k % 4] = Biased(block.values[k]);
        }
      }
      to += kQ8PanelGroupBytes;
    }
  }
}

void PackBytePanel(const PanelRows<int8_t>& source, std::byte* to) {
  for (size_t k = 0; k < 4 * QuadCount(source.dim); ++k) {
    for (size_t n = 0; n < kPanelOutputs; ++n) {
      to[k / 4 * 4 * kPanelOutputs + 4 * n + k % 4] = Biased(source.At(static_cast<int>(n), k));
    }
  }
}

template <typename Element>
PanelRows<Element> RowsOfPanel(const Matrix& matrix, size_t panel) {
  PanelRows<Element> rows = {{}, matrix.input_dim() / StorageUnitOf(matrix.type()).values};
  for (size_t n = 0; n < kPanelOutputs; ++n) {
    const size_t output = panel * kPanelOutputs + n;
    rows.rows[n] = output < matrix.output_dim()
                       ? reinterpret_cast<const Element*>(matrix.Row(output))
                       : nullptr;
  }
  return rows;
}

}  // namespace

absl::StatusOr<Matrix> Matrix::Make(const Projection& projection, WeightPlacement placement,
                                    WorkerPool& pool) {
  const Tensor& tensor = *projection.weight;
  Matrix matrix;
  matrix.type_ = tensor.type;
  matrix.output_dim_ = tensor.RowCount();
  matrix.input_dim_ = tensor.ValuesPerRow();
  matrix.interleaved_head_dim_ = static_cast<size_t>(projection.interleaved_head_dim);
  matrix.source_ = tensor.data;
  matrix.row_size_bytes_ = tensor.size_bytes / matrix.output_dim_;
  matrix.bias_ = projection.bias;
  for (size_t output = 0; output < projection.row_scales.size(); ++output) {
    matrix.row_scales_.push_back(projection.row_scales[projection.RowOf(output)]);
  }
  if (placement == WeightPlacement::kInPlace) return matrix;

  const size_t panel_size = matrix.panel_size_bytes();
  AlignedBytes packed;
  std::byte* to = packed.AtLeast(matrix.panel_count() * panel_size);
  // Heads of interleaved rows reach across panels: they are dropped when all is read.
  const bool drop = placement == WeightPlacement::kPackedSourceDropped;
  const bool drop_panels = drop && matrix.interleaved_head_dim_ == 0;
  absl::Status status = pool.Run(matrix.panel_count(), [&](size_t panel, int) {
    matrix.PackPanel(panel, to + panel * panel_size);
    if (!drop_panels) return;
    const size_t end = std::min(matrix.output_dim_, (panel + 1) * kPanelOutputs);
    DropPages(matrix.Row(panel * kPanelOutputs), matrix.source_ + end * matrix.row_size_bytes_);
  });
  if (!status.ok()) return status;
  if (drop) DropPages(tensor.data, tensor.data + tensor.size_bytes);
  matrix.packed_ = std::move(packed);
  return matrix;
}

size_t Matrix::panel_count() const {
  return (output_dim_ + kPanelOutputs - 1) / kPanelOutputs;
}

size_t Matrix::panel_size_bytes() const {
  if (type_ == DataType::kQ8_0) return input_dim_ / kQ8Group * kQ8PanelGroupBytes;
  if (type_ == DataType::kI8) return QuadCount(input_dim_) * 4 * kPanelOutputs;
  return FloatChunkCount(input_dim_) * kDotChunk * kPanelOutputs * StorageUnitOf(type_).size_bytes;
}

const std::byte* Matrix::Row(size_t output) const {
  Projection order;
  order.interleaved_head_dim = static_cast<int32_t>(interleaved_head_dim_);
  return source_ + order.RowOf(output) * row_size_bytes_;
}

const std::byte* Matrix::Panel(size_t index, std::byte* scratch) const {
  if (!in_place()) return packed_.data() + index * panel_size_bytes();
  PackPanel(index, scratch);
  return scratch;
}

void Matrix::PackPanel(size_t index, std::byte* to) const {
  switch (type_) {
    case DataType::kF32:
      PackFloatPanel(RowsOfPanel<float>(*this, index), false, reinterpret_cast<float*>(to));
      break;
    case DataType::kF16:
    case DataType::kBF16:
      PackFloatPanel(RowsOfPanel<uint16_t>(*this, index), type_ == DataType::kBF16,
                     reinterpret_cast<uint16_t*>(to));
      break;
    case DataType::kQ8_0:
      PackQ8Panel(RowsOfPanel<Q8Block>(*this, index), to);
      break;
    case DataType::kI8:
      PackBytePanel(RowsOfPanel<int8_t>(*this, index), to);
      break;
  }
}

}  // namespace reenact::local_engine
