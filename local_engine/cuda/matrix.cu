#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "local_engine/cuda/device_operations.cuh"
#include "local_engine/cuda/matrix.h"
#include "local_engine/cuda/panel_layout.cuh"
#include "local_engine/numerics/q8_block.h"

namespace reenact::local_engine {
namespace {

constexpr int kPackThreads = 256;
constexpr size_t kSliceBytes = size_t{32} << 20;  // Of the source that is copied at once.

// Rows of a tensor in device memory, as they lie in the file, that make the outputs
// [first_output, first_output + output_count).
struct SourceSlice {
  const unsigned char* rows = nullptr;
  size_t row_size_bytes = 0;
  int dim = 0;
  int first_output = 0;
  int output_count = 0;
  int interleaved_head_dim = 0;  // As in Projection.

  // The bytes of an output, or null beyond the last one.
  __device__ const unsigned char* RowOf(int output) const {
    int row = output - first_output;
    if (row >= output_count) return nullptr;
    if (interleaved_head_dim > 0) {
      const int half = interleaved_head_dim / 2;
      const int of_head = row % interleaved_head_dim;
      row += of_head < half ? of_head : of_head - 2 * half + 1;
    }
    return rows + static_cast<size_t>(row) * row_size_bytes;
  }
};

// A thread a unit: [panel][place][unit][output].
template <typename Value>
__global__ void __launch_bounds__(kPackThreads) PackFloatsKernel(SourceSlice source, uint4* to) {
  const int units = UnitCount(source.dim, sizeof(Value));
  const size_t index = size_t{blockIdx.x} * kPackThreads + threadIdx.x;
  const size_t of_panel = static_cast<size_t>(units) * kDotClasses * kPanelOutputs;
  const auto panel = static_cast<int>(index / of_panel);
  const auto in_panel = static_cast<int>(index % of_panel);
  if (panel >= CountOf(source.output_count, kPanelOutputs)) return;
  const int output = source.first_output + panel * kPanelOutputs + in_panel % kPanelOutputs;
  const int unit = in_panel / kPanelOutputs % units;
  const int place = in_panel / (kPanelOutputs * units);
  const auto* row = reinterpret_cast<const Value*>(source.RowOf(output));
  constexpr int kValues = kUnitBytes / sizeof(Value);

  union {
    uint4 whole;
    Value values[kValues];
  } packed;

  packed.whole = make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    const int chunk = unit * (kValues / 2) + i / 2;
    const int k = chunk * kDotChunk + 2 * BitReversed(place) + i % 2;
    if (row != nullptr && k < source.dim) packed.values[i] = row[k];
  }
  to[index] = packed.whole;
}

// A thread a group: [panel][class][group of the class][output].
__global__ void __launch_bounds__(kPackThreads)
    PackQ8Kernel(SourceSlice source, uint4* to, uint16_t* scales) {
  const int class_groups = Q8ClassGroups(source.dim);
  const size_t index = size_t{blockIdx.x} * kPackThreads + threadIdx.x;
  const size_t of_panel = static_cast<size_t>(class_groups) * kQ8Classes * kPanelOutputs;
  const auto panel = static_cast<int>(index / of_panel);
  const auto in_panel = static_cast<int>(index % of_panel);
  if (panel >= CountOf(source.output_count, kPanelOutputs)) return;
  const int output = source.first_output + panel * kPanelOutputs + in_panel % kPanelOutputs;
  const int of_class = in_panel / kPanelOutputs % class_groups;
  const int group = of_class * kQ8Classes + in_panel / (kPanelOutputs * class_groups);
  const unsigned char* row = source.RowOf(output);

  union {
    uint4 units[2];
    int8_t values[kQ8GroupSize];
  } packed;

  packed.units[0] = packed.units[1] = make_uint4(0, 0, 0, 0);
  uint16_t scale = 0;
  if (row != nullptr && group < Q8GroupCount(source.dim)) {
    const Q8Block& block = reinterpret_cast<const Q8Block*>(row)[group];
    scale = block.scale_fp16;
#pragma unroll
    for (int i = 0; i < kQ8GroupSize; ++i) packed.values[i] = block.values[i];
  }
  to[2 * index] = packed.units[0];
  to[2 * index + 1] = packed.units[1];
  scales[index] = scale;
}

// A thread a unit: [output][unit].
__global__ void __launch_bounds__(kPackThreads) PackBytesKernel(SourceSlice source, uint4* to) {
  const int units = ByteRowUnits(source.dim);
  const size_t index = size_t{blockIdx.x} * kPackThreads + threadIdx.x;
  const auto output = static_cast<int>(index / static_cast<size_t>(units));
  if (output >= CountOf(source.output_count, kPanelOutputs) * kPanelOutputs) return;
  const int first = static_cast<int>(index % static_cast<size_t>(units)) * kUnitBytes;
  const unsigned char* row = source.RowOf(source.first_output + output);

  union {
    uint4 whole;
    unsigned char values[kUnitBytes];
  } packed;

  packed.whole = make_uint4(0, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < kUnitBytes; ++i) {
    if (row != nullptr && first + i < source.dim) packed.values[i] = row[first + i];
  }
  to[index] = packed.whole;
}

size_t UnitsOfPanel(DataType type, int dim) {
  switch (type) {
    case DataType::kF32:
      return FloatUnitIndex(dim, 4, 1, 0, 0);
    case DataType::kF16:
    case DataType::kBF16:
      return FloatUnitIndex(dim, 2, 1, 0, 0);
    case DataType::kQ8_0:
      return Q8GroupIndex(dim, 1, 0) * 2;
    case DataType::kI8:
      return static_cast<size_t>(ByteRowUnits(dim)) * kPanelOutputs;
  }
  return 0;
}

size_t PanelCount(const Tensor& tensor) {
  return (tensor.RowCount() + kPanelOutputs - 1) / kPanelOutputs;
}

// Queues the packing of one slice; `units` and `scales` are of its first panel.
void Pack(DataType type, const SourceSlice& slice, CudaDevice& device, uint4* units,
          uint16_t* scales) {
  const auto panels = static_cast<size_t>(CountOf(slice.output_count, kPanelOutputs));
  const size_t threads = panels * UnitsOfPanel(type, slice.dim) / (type == DataType::kQ8_0 ? 2 : 1);
  const LaunchShape shape = {
      .blocks = dim3(static_cast<unsigned>((threads + kPackThreads - 1) / kPackThreads)),
      .threads = kPackThreads};
  switch (type) {
    case DataType::kF32:
      return device.Launch(shape, PackFloatsKernel<uint32_t>, slice, units);
    case DataType::kF16:
    case DataType::kBF16:
      return device.Launch(shape, PackFloatsKernel<uint16_t>, slice, units);
    case DataType::kQ8_0:
      return device.Launch(shape, PackQ8Kernel, slice, units, scales);
    case DataType::kI8:
      return device.Launch(shape, PackBytesKernel, slice, units);
  }
}

// Outputs of a slice: whole panels and whole heads, of about kSliceBytes.
size_t SliceOutputs(const Projection& projection, size_t row_size_bytes) {
  size_t step = kPanelOutputs;
  const auto head = static_cast<size_t>(projection.interleaved_head_dim);
  while (head > 0 && step % head != 0) step += kPanelOutputs;
  return std::max<size_t>(1, kSliceBytes / (row_size_bytes * step)) * step;
}

void Upload(std::span<const float> values, CudaDevice& device, DeviceMemory* memory,
            const float** view) {
  if (values.empty() || !device.Reserve(values.size_bytes(), memory)) return;
  device.Copy(memory->As<void>(), values.data(), values.size_bytes());
  *view = memory->As<float>();
}

}  // namespace

size_t CudaMatrix::SizeBytes(const Projection& projection) {
  const Tensor& tensor = *projection.weight;
  const auto dim = static_cast<int>(tensor.ValuesPerRow());
  const size_t panels = PanelCount(tensor);
  const size_t scales =
      tensor.type == DataType::kQ8_0 ? Q8GroupIndex(dim, 1, 0) * sizeof(uint16_t) : 0;
  return panels * (UnitsOfPanel(tensor.type, dim) * kUnitBytes + scales) +
         (projection.bias.size() + projection.row_scales.size()) * sizeof(float);
}

cudaError_t CudaMatrix::Make(const Projection& projection, CudaDevice& device, CudaMatrix* matrix) {
  const Tensor& tensor = *projection.weight;
  CudaMatrix made;
  made.type_ = tensor.type;
  made.view_.output_dim = static_cast<int>(tensor.RowCount());
  made.view_.input_dim = static_cast<int>(tensor.ValuesPerRow());
  const size_t panel_units = UnitsOfPanel(tensor.type, made.view_.input_dim);
  device.Reserve(PanelCount(tensor) * panel_units * kUnitBytes, &made.units_);
  made.view_.units = made.units_.As<uint4>();
  const size_t panel_scales =
      tensor.type == DataType::kQ8_0 ? Q8GroupIndex(made.view_.input_dim, 1, 0) : 0;
  device.Reserve(PanelCount(tensor) * panel_scales * sizeof(uint16_t), &made.scales_);
  made.view_.scales = made.scales_.As<uint16_t>();
  Upload(projection.bias, device, &made.bias_, &made.view_.bias);
  std::vector<float> row_scales;
  for (size_t output = 0; output < projection.row_scales.size(); ++output) {
    row_scales.push_back(projection.row_scales[projection.RowOf(output)]);
  }
  Upload(row_scales, device, &made.row_scales_, &made.view_.row_scales);

  const size_t outputs = tensor.RowCount();
  const size_t row_size_bytes = tensor.size_bytes / outputs;
  const size_t at_once = SliceOutputs(projection, row_size_bytes);
  std::byte* rows = device.Scratch(ScratchUse::kRows, std::min(outputs, at_once) * row_size_bytes);
  for (size_t first = 0; first < outputs && rows != nullptr; first += at_once) {
    const size_t count = std::min(at_once, outputs - first);
    device.Copy(rows, tensor.data + first * row_size_bytes, count * row_size_bytes);
    const SourceSlice slice = {.rows = reinterpret_cast<const unsigned char*>(rows),
                               .row_size_bytes = row_size_bytes,
                               .dim = made.view_.input_dim,
                               .first_output = static_cast<int>(first),
                               .output_count = static_cast<int>(count),
                               .interleaved_head_dim = projection.interleaved_head_dim};
    const size_t panel = first / kPanelOutputs;
    Pack(tensor.type, slice, device, made.units_.As<uint4>() + panel * panel_units,
         made.scales_.As<uint16_t>() + panel * panel_scales);
  }
  const cudaError_t error = device.Wait();
  if (error == cudaSuccess) *matrix = std::move(made);
  return error;
}

}  // namespace reenact::local_engine
