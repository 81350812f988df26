#include "local_engine/cpu/matrix.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/cpu/internal/pack_panel.h"
#include "local_engine/cpu/internal/panel_layout.h"
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

PanelSource SourceOfPanel(const Matrix& matrix, size_t panel) {
  PanelSource source = {{}, matrix.input_dim()};
  for (size_t n = 0; n < kPanelOutputs; ++n) {
    const size_t output = panel * kPanelOutputs + n;
    source.rows[n] = output < matrix.output_dim() ? matrix.Row(output) : nullptr;
  }
  return source;
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
  if (type_ == DataType::kQ8_0) return Q8PanelBytes(input_dim_);
  if (type_ == DataType::kI8) return W8A8PanelBytes(input_dim_);
  return FloatPanelElements(input_dim_) * StorageUnitOf(type_).size_bytes;
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
  const PanelSource source = SourceOfPanel(*this, index);
  switch (type_) {
    case DataType::kF32:
      return PackF32Panel(source, to);
    case DataType::kF16:
      return PackF16Panel(source, to);
    case DataType::kBF16:
      return PackBf16Panel(source, to);
    case DataType::kQ8_0:
      return PackQ8Panel(source, to);
    case DataType::kI8:
      return PackW8A8Panel(source, to);
  }
}

}  // namespace reenact::local_engine
