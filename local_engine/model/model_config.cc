#include "local_engine/model/model_config.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace reenact::local_engine {
namespace {

struct Range {
  const char* name;
  int64_t value;
  int64_t least;
  int64_t most;
};

}  // namespace

absl::Status CheckConfig(const std::string& file, const ModelConfig& config) {
  const Range ranges[] = {
      {"number of layers", config.layer_count, 1, 1024},
      {"hidden size", config.hidden_dim, 1, 1 << 17},
      {"feed-forward size", config.feed_forward_dim, 1, 1 << 17},  // W8A8 sums are exact to there.
      {"number of heads", config.head_count, 1, 1 << 12},
      {"number of KV heads", config.kv_head_count, 1, 1 << 12},
      {"head size", config.head_dim, 2, 1 << 12},
      {"vocabulary size", config.vocabulary_size, 1, 1 << 22},
      {"number of positions", config.max_positions, 1, 1 << 20},
  };
  for (const Range& range : ranges) {
    if (range.value < range.least || range.value > range.most) {
      return absl::InvalidArgumentError(
          file + ": " + range.name + " " + std::to_string(range.value) + " is not from " +
          std::to_string(range.least) + " to " + std::to_string(range.most));
    }
  }
  if (config.head_count % config.kv_head_count != 0) {
    return absl::InvalidArgumentError(file + ": " + std::to_string(config.head_count) +
                                      " heads cannot share " +
                                      std::to_string(config.kv_head_count) + " KV heads evenly");
  }
  if (config.head_dim % 2 != 0) {
    return absl::InvalidArgumentError(file + ": head size " + std::to_string(config.head_dim) +
                                      " is odd: it cannot be rotated in pairs");
  }
  if (!(config.rms_norm_epsilon > 0 && config.rms_norm_epsilon < 1)) {
    return absl::InvalidArgumentError(file + ": the norm's epsilon is not between 0 and 1");
  }
  const RopeConfig& rope = config.rope;
  if (!(rope.theta > 1 && rope.theta < 1e12)) {
    return absl::InvalidArgumentError(file + ": rope theta is not between 1 and 1e12");
  }
  if (rope.scaling != RopeScaling::kNone &&
      !(rope.factor >= 1 && rope.factor <= 1024 && rope.original_context >= 1 &&
        rope.original_context <= 1 << 20)) {
    return absl::InvalidArgumentError(file + ": rope scaling has no usable factor or context");
  }
  if (rope.scaling == RopeScaling::kLlama3 &&
      !(rope.low_frequency_factor > 0 && rope.high_frequency_factor > rope.low_frequency_factor)) {
    return absl::InvalidArgumentError(file + ": rope scaling has no usable frequency factors");
  }
  if (rope.scaling == RopeScaling::kYarn &&
      !(rope.beta_slow > 0 && rope.beta_fast > rope.beta_slow && rope.attention_factor >= 0)) {
    return absl::InvalidArgumentError(file +
                                      ": rope scaling has no usable beta or attention factor");
  }
  return absl::OkStatus();
}

}  // namespace reenact::local_engine
