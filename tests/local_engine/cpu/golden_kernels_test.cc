// The golden hashes of reference/, computed by kernels: golden_operations.cc is linked with the
// functions below in place of the reference's own.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/cpu/attention.h"
#include "local_engine/cpu/device.h"
#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/logprob.h"
#include "local_engine/cpu/matrix.h"
#include "local_engine/cpu/matrix_product.h"
#include "local_engine/reference/attention.h"
#include "local_engine/reference/dot.h"
#include "local_engine/reference/logprob.h"
#include "local_engine/reference/quantised_dot.h"
#include "local_engine/reference/rms_norm.h"
#include "local_engine/reference/rope.h"
#include "local_engine/reference/silu_mul.h"
#include "tests/local_engine/cpu/kernel_testing.h"
#include "tests/local_engine/reference/golden_operations.h"

namespace reenact::local_engine {
namespace {

std::unique_ptr<CpuDevice> device;

const KernelTable& Kernels() {
  return device->kernels();
}

}  // namespace

float Dot(std::span<const float> x, std::span<const float> w) {
  const Tensor tensor = {.name = "w",
                         .type = DataType::kF32,
                         .shape = {1, w.size()},
                         .data = reinterpret_cast<const std::byte*>(w.data()),
                         .size_bytes = w.size_bytes()};
  Projection projection;
  projection.weight = &tensor;
  const auto matrix = Matrix::Make(projection, WeightPlacement::kPacked, device->pool());
  float y = 0;
  EXPECT_TRUE(Multiply(*matrix, x, 1, *device, {&y, 1}).ok());
  return y;
}

QuantisedRow QuantiseRow(std::span<const float> x, size_t group_size) {
  QuantisedRow row;
  row.values.resize(x.size());
  row.scales.resize(x.size() / group_size);
  Kernels().quantise(x.data(), x.size(), group_size, row.values.data(), row.scales.data());
  return row;
}

namespace {

// One row of quantised activations times one output, as the tile kernels take them.
float QuantisedProduct(const QuantisedRow& x, const Tensor& tensor, float row_scale) {
  Projection projection;
  projection.weight = &tensor;
  if (tensor.type == DataType::kI8) projection.row_scales = {row_scale};
  const auto matrix = Matrix::Make(projection, WeightPlacement::kPacked, device->pool());
  const bool is_q8 = tensor.type == DataType::kQ8_0;
  const size_t dim = x.values.size();
  std::vector<int32_t> packed;
  const auto append = [&](size_t begin, size_t count) {
    int32_t sum = 0;
    for (size_t k = begin; k < begin + count; k += 4) {
      int8_t quad[4] = {};
      for (size_t i = 0; i < 4 && k + i < dim; ++i) sum += quad[i] = x.values[k + i];
      packed.push_back(0);
      std::memcpy(&packed.back(), quad, sizeof(quad));
    }
    packed.push_back(-128 * sum);
    packed.push_back(static_cast<int32_t>(float_bits(x.scales[is_q8 ? begin / 32 : 0])));
  };
  if (is_q8) {
    for (int place = 0; place < kQ8Classes; ++place) {
      for (size_t group = Q8ClassAt(place); group < dim / 32; group += 4) append(group * 32, 32);
    }
  } else {
    append(0, dim);
  }
  float y = 0;
  const ProductTile tile = {.x = packed.data(),
                            .panel = matrix->Panel(0, nullptr),
                            .dim = dim,
                            .rows = 1,
                            .outputs = 1,
                            .row_scales = matrix->row_scales(),
                            .y = &y,
                            .y_stride = 1};
  (is_q8 ? Kernels().multiply_q8 : Kernels().multiply_w8a8)(tile);
  return y;
}

}  // namespace

float DotQ8(const QuantisedRow& x, std::span<const Q8Block> w) {
  return QuantisedProduct(x,
                          {.name = "w",
                           .type = DataType::kQ8_0,
                           .shape = {1, w.size() * kQ8GroupSize},
                           .data = reinterpret_cast<const std::byte*>(w.data()),
                           .size_bytes = w.size_bytes()},
                          0);
}

float DotW8A8(const QuantisedRow& x, std::span<const int8_t> w, float weight_scale) {
  return QuantisedProduct(x,
                          {.name = "w",
                           .type = DataType::kI8,
                           .shape = {1, w.size()},
                           .data = reinterpret_cast<const std::byte*>(w.data()),
                           .size_bytes = w.size_bytes()},
                          weight_scale);
}

void RmsNorm(std::span<const float> x, std::span<const float> weight, float epsilon,
             std::span<float> y) {
  Kernels().rms_norm(x.data(), weight.data(), x.size(), epsilon, y.data());
}

void Rotate(const RopeTable& table, int32_t position, std::span<float> head) {
  const auto half = static_cast<size_t>(table.half_dim);
  const size_t at = static_cast<size_t>(position) * half;
  Kernels().rotate(&table.cos[at], &table.sin[at], half, head.data());
}

void SiluMul(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  Kernels().silu_mul(gate.data(), up.data(), gate.size(), out.data());
}

float SumOfExp(std::span<const float> logits, float maximum) {
  float total = 0;
  for (size_t begin = 0; begin < logits.size(); begin += 4096) {
    const auto chunk = logits.subspan(begin).first(std::min<size_t>(4096, logits.size() - begin));
    total = add_rn(total, Kernels().sum_of_exp_chunk(chunk.data(), chunk.size(), maximum));
  }
  return total;
}

LogNormaliser Normalise(std::span<const float> logits) {
  RowNormaliser row;
  EXPECT_TRUE(NormaliseRows(logits, *device, {&row, 1}).ok());
  return {row.maximum, row.log_sum};
}

float Logprob(float logit, const LogNormaliser& normaliser) {
  return sub_rn(logit, normaliser.log_sum);
}

void Attend(std::span<const float> query, const KvRows& rows, LiveKeys live, float scale,
            std::span<float> out) {
  const KvBlockShape shape = {DataType::kF32, query.size()};
  std::vector<std::vector<std::byte>> blocks;
  std::vector<const void*> pointers;
  for (int32_t at = 0; at < live.end; ++at) {
    if (at % 32 == 0) blocks.emplace_back(shape.SizeBytes(), std::byte{0xff});
    const size_t row = static_cast<size_t>(at) * rows.stride;
    StoreKeyValue(shape, static_cast<size_t>(at) % 32, rows.keys + row, rows.values + row,
                  blocks.back().data());
  }
  for (const auto& block : blocks) pointers.push_back(block.data());
  const AttentionRow attention_row = {query.data(), out.data(), live.first, live.end};
  const AttentionTask task = {pointers, {&attention_row, 1}};
  EXPECT_TRUE(AttendTasks({&task, 1}, shape, 1, scale, *device).ok());
}

namespace {

class GoldenKernels : public testing::TestWithParam<Isa> {};

TEST_P(GoldenKernels, EveryOperationHasTheFrozenHash) {
  device = DeviceFor(GetParam(), 1);
  ASSERT_STREQ(device->kernels().name, IsaName(GetParam()));
  std::map<std::string, std::string> frozen;
  std::ifstream file(GOLDEN_FILE);
  for (std::string name, hash; file >> name >> hash;) frozen[name] = hash;
  int compared = 0;
  for (const GoldenOperation& operation : GoldenOperations()) {
    EXPECT_EQ(operation.hash(), frozen[operation.name]) << operation.name;
    ++compared;
  }
  EXPECT_GE(compared, 18);
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, GoldenKernels, testing::ValuesIn(AvailableIsas()),
                         [](const auto& which) { return std::string(IsaName(which.param)); });

}  // namespace
}  // namespace reenact::local_engine
