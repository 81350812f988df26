#include "local_engine/engine/stock_forward.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cpu/matrix_product.h"
#include "local_engine/engine/stock_attention.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/reference/attention.h"
#include "local_engine/reference/halving_tree.h"

namespace reenact::local_engine {
namespace {

// RMSNorm over `block` classes.
void BlockNorm(std::span<const float> x, std::span<const float> weight, float epsilon,
               int32_t block, std::span<float> y) {
  std::vector<float> acc(static_cast<size_t>(block));
  for (size_t k = 0; k < x.size(); ++k) {
    float& of_class = acc[k % acc.size()];
    of_class = add_rn(of_class, mul_rn(x[k], x[k]));
  }
  const float sum = HalvingTree(acc, static_cast<int>(std::min(x.size(), acc.size())));
  const float mean = div_rn(sum, static_cast<float>(x.size()));
  const float inverse = div_rn(1.0f, sqrt_rn(add_rn(mean, epsilon)));
  for (size_t k = 0; k < x.size(); ++k) y[k] = mul_rn(mul_rn(x[k], inverse), weight[k]);
}

}  // namespace

absl::Status StockForward::Norm(RowSettings settings, std::span<const float> x,
                                std::span<const float> weight, std::span<float> y) {
  const size_t dim = weight.size();
  const size_t count = x.size() / dim;
  return device().Run(count, dim, [&](size_t row, int) {
    const StockSettings& of_row = *settings[row * settings.size() / count];
    BlockNorm(x.subspan(row * dim, dim), weight, config().rms_norm_epsilon, of_row.norm_block,
              y.subspan(row * dim, dim));
  });
}

// A part of K is a product of the row with zeros elsewhere: they leave a sum as it is.
absl::Status StockForward::Project(RowSettings settings, RowBuffer* from,
                                   std::initializer_list<Projected> projections) {
  const size_t dim = from->dim();
  size_t part_count = 0;
  for (const StockSettings* of_row : settings) part_count += static_cast<size_t>(of_row->split_k);
  parts_of_x_.assign(part_count * dim, 0.0f);
  size_t at = 0;
  for (size_t row = 0; row < settings.size(); ++row) {
    const auto split = static_cast<size_t>(settings[row]->split_k);
    for (size_t part = 0; part < split; ++part, ++at) {
      const size_t begin = dim * part / split;
      const size_t end = dim * (part + 1) / split;
      std::ranges::copy(from->Row(row).subspan(begin, end - begin),
                        parts_of_x_.begin() + static_cast<ptrdiff_t>(at * dim + begin));
    }
  }
  for (const auto& [weights, to] : projections) {
    parts_of_y_.resize(part_count * to->dim());
    absl::Status status = Multiply(*weights, parts_of_x_, part_count, device(), parts_of_y_);
    if (!status.ok()) return status;
    AddParts(settings, weights->bias(), to);
  }
  return absl::OkStatus();
}

// Each part comes with the bias, which all but the first give back.
void StockForward::AddParts(RowSettings settings, const float* bias, RowBuffer* to) {
  const size_t dim = to->dim();
  to->Rows(settings.size());
  const float* part_row = parts_of_y_.data();
  for (size_t row = 0; row < settings.size(); ++row) {
    const std::span<float> sum = to->Row(row);
    std::copy_n(part_row, dim, sum.begin());
    part_row += dim;
    for (int32_t part = 1; part < settings[row]->split_k; ++part, part_row += dim) {
      for (size_t n = 0; n < dim; ++n) {
        const float own = bias != nullptr ? sub_rn(part_row[n], bias[n]) : part_row[n];
        sum[n] = add_rn(sum[n], own);
      }
    }
  }
}

absl::Status StockForward::AttendAllHeads(int32_t layer, const StepRows& rows, RowBuffer* queries,
                                          RowBuffer* attended) {
  attended->Rows(rows.count());
  // All rows of a sequence read the same keys, widened once.
  return device().pool().Run(rows.parts().size(), [&](size_t index, int) {
    const StepRows::Part& part = rows.parts()[index];
    const std::span<const int32_t> pages = rows.SequenceOf(part).pages;
    const size_t kv_dim =
        static_cast<size_t>(config().kv_head_count) * static_cast<size_t>(config().head_dim);
    const size_t page_size = kPagePositions * kv_dim;
    const int32_t end = rows.positions()[part.first_row + part.row_count - 1] + 1;
    const size_t page_count = static_cast<size_t>((end + kPagePositions - 1) / kPagePositions);
    std::vector<float> keys(page_count * page_size);
    std::vector<float> values(keys.size());
    for (size_t i = 0; i < page_count; ++i) {
      this->pages().Read(pages[i], layer, std::span(keys).subspan(i * page_size, page_size),
                         std::span(values).subspan(i * page_size, page_size));
    }
    for (size_t row = part.first_row; row < part.first_row + part.row_count; ++row) {
      const int32_t position = rows.positions()[row];
      AttendRow({keys.data(), values.data(), kv_dim},
                {.first = FirstKey(layer, position), .end = position + 1}, *rows.settings()[row],
                queries->Row(row), attended->Row(row));
    }
  });
}

void StockForward::AttendRow(const KvRows& cached, LiveKeys live, const StockSettings& settings,
                             std::span<const float> queries, std::span<float> out) const {
  const auto head_dim = static_cast<size_t>(config().head_dim);
  const int32_t group = config().head_count / config().kv_head_count;
  const std::vector<int32_t> part_ends = StockPartEnds(live, settings);
  for (int32_t head = 0; head < config().head_count; ++head) {
    const size_t at = static_cast<size_t>(head) * head_dim;
    const size_t kv_at = static_cast<size_t>(head / group) * head_dim;
    StockAttend(queries.subspan(at, head_dim),
                {cached.keys + kv_at, cached.values + kv_at, cached.stride}, live,
                attention_scale(), part_ends, out.subspan(at, head_dim));
  }
}

absl::Status StockForward::RoundActivations(std::span<float> values) {
  for (float& value : values) value = widen_bf16(narrow_to_bf16(value));
  return absl::OkStatus();
}

}  // namespace reenact::local_engine
