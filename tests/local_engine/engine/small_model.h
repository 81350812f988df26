// Random models small enough for tens of thousands of tokens in a second of scalar code.

#ifndef REENACT_TESTS_LOCAL_ENGINE_ENGINE_SMALL_MODEL_H_
#define REENACT_TESTS_LOCAL_ENGINE_ENGINE_SMALL_MODEL_H_

#include <string>

#include "tests/local_engine/model/random_model.h"

namespace reenact::local_engine {

inline RandomModelShape SmallShape(DataType type = DataType::kF32) {
  return {.layer_count = 2,
          .hidden_dim = 16,
          .feed_forward_dim = 24,
          .head_count = 2,
          .kv_head_count = 1,
          .head_dim = 8,
          .vocabulary_size = 61,
          .type = type};
}

inline void WriteSmallModel(const std::string& folder, const RandomModelShape& shape,
                            const std::string& architecture, const std::string& more = "") {
  WriteFolder(folder, ConfigOf(shape, architecture, more), RandomTensors(shape).All());
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_ENGINE_SMALL_MODEL_H_
