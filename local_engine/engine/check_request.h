// What a request may ask of an engine.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_CHECK_REQUEST_H_
#define REENACT_LOCAL_ENGINE_ENGINE_CHECK_REQUEST_H_

#include <cstdint>

#include "absl/status/status.h"

#include "local_engine/engine.h"

namespace reenact::local_engine {

struct RequestLimits {
  int32_t vocabulary_size = 0;
  int32_t max_positions = 0;  // That one sequence can have.
  bool takes_schedules = false;
  bool has_text = false;  // A tokenizer.
};

// InvalidArgument names the first value that is out of its range, and the range.
absl::Status CheckRequest(const Request& request, const RequestLimits& limits);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_CHECK_REQUEST_H_
