#include "local_engine/engine/stock_schedule.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "nlohmann/json.hpp"

namespace reenact::local_engine {
namespace {

constexpr int32_t kMostParts = 256;
constexpr size_t kFields = 7;

bool IsWithin(int32_t value, int32_t lowest, int32_t highest) {
  return value >= lowest && value <= highest;
}

bool AreInRange(const StockSettings& settings) {
  return IsWithin(settings.split_k, 1, kMostParts) && IsWithin(settings.norm_block, 1, 1024) &&
         std::has_single_bit(static_cast<uint32_t>(settings.norm_block)) &&
         IsWithin(settings.kv_splits, 1, kMostParts) && settings.cached_keys >= 0 &&
         settings.step_rows >= 1;
}

}  // namespace

StockSettings ChooseStockSettings(const StockLoad& load) {
  StockSettings settings = {.step_rows = load.step_rows, .cached_keys = load.cached_keys};
  settings.split_k = load.step_rows <= 2 ? 4 : load.step_rows <= 8 ? 2 : 1;
  settings.norm_block = load.step_rows < 16 ? 256 : 32;
  settings.kv_splits = std::clamp(8 / load.step_sequences, 1, 4);
  return settings;
}

void AppendToSchedule(const StockStep& step, StockSchedule* schedule) {
  if (!schedule->empty()) {
    StockStep& last = schedule->back();
    if (last.settings == step.settings &&
        last.first_position + last.position_count == step.first_position) {
      last.position_count += step.position_count;
      return;
    }
  }
  schedule->push_back(step);
}

StockSchedule PartOfSchedule(const StockSchedule& schedule, size_t first_step, int32_t begin,
                             int32_t end) {
  StockSchedule part;
  for (size_t i = first_step; i < schedule.size(); ++i) {
    const StockStep& step = schedule[i];
    const int32_t first = std::max(begin, step.first_position);
    const int32_t last = std::min(end, step.first_position + step.position_count);
    if (first < last) AppendToSchedule({first, last - first, step.settings}, &part);
  }
  return part;
}

std::string StockScheduleToJson(const StockSchedule& schedule) {
  nlohmann::json steps = nlohmann::json::array();
  for (const StockStep& step : schedule) {
    const StockSettings& settings = step.settings;
    steps.push_back({step.first_position, step.position_count, settings.step_rows, settings.split_k,
                     settings.norm_block, settings.kv_splits, settings.cached_keys});
  }
  return steps.dump();
}

absl::StatusOr<StockSchedule> StockScheduleFromJson(std::string_view json) {
  const nlohmann::json steps = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!steps.is_array()) return absl::InvalidArgumentError("a schedule is an array of steps");
  StockSchedule schedule;
  for (const nlohmann::json& step : steps) {
    int32_t fields[kFields];
    bool is_step = step.is_array() && step.size() == kFields;
    for (size_t i = 0; is_step && i < kFields; ++i) {
      is_step = step[i].is_number_integer() && step[i] >= 0 &&
                step[i] <= std::numeric_limits<int32_t>::max();
      if (is_step) fields[i] = step[i].get<int32_t>();
    }
    if (!is_step) {
      return absl::InvalidArgumentError("step " + std::to_string(schedule.size()) +
                                        " of a schedule is no array of 7 natural numbers");
    }
    schedule.push_back(
        {fields[0], fields[1], {fields[2], fields[3], fields[4], fields[5], fields[6]}});
  }
  if (absl::Status status = CheckStockSchedule(schedule); !status.ok()) return status;
  return schedule;
}

absl::Status CheckStockSchedule(const StockSchedule& schedule) {
  int32_t reached = 0;
  for (size_t i = 0; i < schedule.size(); ++i) {
    const StockStep& step = schedule[i];
    const std::string name = "step " + std::to_string(i) + " of a schedule";
    if (step.first_position < 0 || step.first_position > reached) {
      return absl::InvalidArgumentError(name + " begins behind what is computed");
    }
    if (!IsWithin(step.position_count, 1,
                  std::numeric_limits<int32_t>::max() - step.first_position)) {
      return absl::InvalidArgumentError(name + " has no positions, or too many");
    }
    if (!AreInRange(step.settings)) {
      return absl::InvalidArgumentError(name + " has a setting out of its range");
    }
    reached = step.first_position + step.position_count;
  }
  return absl::OkStatus();
}

}  // namespace reenact::local_engine
