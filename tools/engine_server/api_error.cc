#include "tools/engine_server/api_error.h"

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace reenact::engine_server {

using nlohmann::ordered_json;

std::string ErrorBody(const ApiError& error) {
  const auto given = [](const std::string& text) {
    return text.empty() ? ordered_json(nullptr) : ordered_json(text);
  };
  const ordered_json body = {
      {"error",
       {{"message", error.message},
        {"type", error.status >= 500 ? "server_error" : "invalid_request_error"},
        {"param", given(error.param)},
        {"code", given(error.code)}}}};
  // The message may quote what was sent, and that may be no UTF-8.
  return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ApiError FromStatus(const absl::Status& status) {
  ApiError error;
  error.message = std::string(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      break;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
      error.status = 503;
      error.code = "overloaded";
      break;
    default:
      error.status = 500;
  }
  return error;
}

std::optional<ApiError> ErrorOf(const absl::StatusOr<local_engine::Answer>& answer) {
  if (!answer.ok()) {
    if (!absl::IsCancelled(answer.status())) return FromStatus(answer.status());
    return ApiError{503, std::string(answer.status().message()), "", "overloaded"};
  }
  for (const local_engine::Completion& completion : answer->completions) {
    if (!completion.status.ok()) {
      return ApiError{500, std::string(completion.status.message()), "", "engine_error"};
    }
    if (completion.finish == local_engine::FinishReason::kCancelled) {
      return ApiError{503, "the request was cancelled", "", "cancelled"};
    }
  }
  return std::nullopt;
}

}  // namespace reenact::engine_server
