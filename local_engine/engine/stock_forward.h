// Profile "stock": the forward pass as production kernels compute it, whose sums follow the load.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_STOCK_FORWARD_H_
#define REENACT_LOCAL_ENGINE_ENGINE_STOCK_FORWARD_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/engine/cpu_forward.h"
#include "local_engine/reference/attention.h"

namespace reenact::local_engine {

// Beside n1: what one operation gives to the next is rounded to bf16; a product is the sum of
// split_k parts of K; the squares of a norm are summed in norm_block classes; the keys of the
// prefix cache and those after them are chunks of their own, each in kv_splits parts. Every row
// obeys its own settings, so a replay gives the same bits beside any others, on any instruction set
// and number of threads.
class StockForward final : public CpuForward {
 public:
  using CpuForward::CpuForward;

 protected:
  absl::Status Norm(RowSettings settings, std::span<const float> x, std::span<const float> weight,
                    std::span<float> y) override;
  absl::Status Project(RowSettings settings, RowBuffer* from,
                       std::initializer_list<Projected> projections) override;
  absl::Status AttendAllHeads(int32_t layer, const StepRows& rows, RowBuffer* queries,
                              RowBuffer* attended) override;
  absl::Status RoundActivations(std::span<float> values) override;

 private:
  void AddParts(RowSettings settings, const float* bias, RowBuffer* to);
  void AttendRow(const KvRows& cached, LiveKeys live, const StockSettings& settings,
                 std::span<const float> queries, std::span<float> out) const;

  std::vector<float> parts_of_x_;  // [rows][split_k of the row][input_dim]
  std::vector<float> parts_of_y_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_STOCK_FORWARD_H_
