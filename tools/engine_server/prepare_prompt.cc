#include "tools/engine_server/prepare_prompt.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace reenact::engine_server {
namespace {

std::optional<ApiError> EncodePrompt(const local_engine::Engine& engine, ApiRequest* request) {
  local_engine::Request& of_engine = request->engine_request;
  absl::StatusOr<std::vector<int32_t>> prompt = of_engine.prompt;
  if (request->endpoint == Endpoint::kChat) {
    prompt = engine.EncodeChat({.messages_json = request->messages_json,
                                .tools_json = request->tools_json,
                                .variables_json = request->template_variables_json,
                                .now = absl::ToCivilSecond(absl::Now(), absl::LocalTimeZone())});
  } else if (request->prompt_text.has_value()) {
    prompt = engine.EncodeText(*request->prompt_text);
  }
  if (!prompt.ok()) {
    ApiError error = FromStatus(prompt.status());
    // What exceeds a limit of the template is the request's doing, and no less so a second later.
    if (error.status == 503) error = {400, error.message};
    error.param = request->endpoint == Endpoint::kChat ? "messages" : "prompt";
    return error;
  }
  of_engine.prompt = *std::move(prompt);
  const auto size = static_cast<int64_t>(of_engine.prompt.size());
  const int64_t room = engine.max_positions() - size;
  if (room < std::max(of_engine.max_tokens, request->all_that_fits ? 1 : 0)) {
    const std::string asked =
        request->all_that_fits ? "" : " and " + std::to_string(of_engine.max_tokens) + " more";
    return ApiError{400,
                    "a prompt of " + std::to_string(size) + " tokens" + asked +
                        " does not fit a context of " + std::to_string(engine.max_positions()),
                    request->endpoint == Endpoint::kChat ? "messages" : "prompt",
                    "context_length_exceeded"};
  }
  if (request->all_that_fits) of_engine.max_tokens = static_cast<int32_t>(room);
  return std::nullopt;
}

}  // namespace

std::optional<ApiError> PreparePrompt(const local_engine::Engine& engine, ApiRequest* request) {
  if (std::optional<ApiError> error = EncodePrompt(engine, request)) return error;
  if (request->form.kind == OutputForm::Kind::kFree) return std::nullopt;
  auto grammar = std::make_shared<local_engine::Grammar>();
  std::optional<ApiError> error = MakeGrammar(request->form, engine.chat_template(), grammar.get());
  if (error.has_value()) return error;
  request->engine_request.form = std::move(grammar);
  return std::nullopt;
}

}  // namespace reenact::engine_server
