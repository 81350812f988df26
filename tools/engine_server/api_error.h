// Errors in the shape in which OpenAI's API has them.

#ifndef REENACT_TOOLS_ENGINE_SERVER_API_ERROR_H_
#define REENACT_TOOLS_ENGINE_SERVER_API_ERROR_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine.h"

namespace reenact::engine_server {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param;  // The field that is wrong; empty: null.
  std::string code;   // Empty: null.
};

// {"error": {"message", "type", "param", "code"}}; the type follows from the status.
std::string ErrorBody(const ApiError& error);

// What the engine says of a request, as an error of the API: 400 for what the caller can mend, 503
// for what passes, else 500.
ApiError FromStatus(const absl::Status& status);

// Of an answer: a sample that was cut off by the engine or by a shutdown.
std::optional<ApiError> ErrorOf(const absl::StatusOr<local_engine::Answer>& answer);

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_API_ERROR_H_
