#include "tools/engine_server/api_request.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/engine_server/json_bounds.h"
#include "tools/engine_server/prompt_messages.h"
#include "tools/engine_server/request_fields.h"

namespace reenact::engine_server {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kMostTokens = int64_t{1} << 24;
constexpr int64_t kMostTopLogprobs = 20;
constexpr size_t kMostStops = 16;

// Of both endpoints; changing nothing here.
constexpr std::initializer_list<const char*> kIgnored = {"user",
                                                         "metadata",
                                                         "store",
                                                         "service_tier",
                                                         "safety_identifier",
                                                         "prediction",
                                                         "prompt_cache_key",
                                                         "prompt_cache_options",
                                                         "prompt_cache_retention"};

void ReadSampling(RequestFields* fields, local_engine::Request* request) {
  local_engine::SamplingSettings& sampling = request->sampling;
  const auto number = [fields](const char* name, double low, double high, float* value) {
    const std::optional<double> given = fields->Number(name, low, high);
    if (given.has_value()) *value = static_cast<float>(*given);
  };
  number("temperature", 0, 2, &sampling.temperature);
  number("top_p", 0, 1, &sampling.top_p);
  number("min_p", 0, 1, &sampling.min_p);
  number("presence_penalty", -2, 2, &sampling.presence_penalty);
  number("frequency_penalty", -2, 2, &sampling.frequency_penalty);
  number("repetition_penalty", 0.01, 100, &sampling.repetition_penalty);
  // -1 is off as well, as with others.
  const std::optional<int64_t> top_k = fields->Integer("top_k", -1, kMostTokens);
  if (top_k.value_or(-1) > 0) sampling.top_k = static_cast<int32_t>(*top_k);
  const std::optional<int64_t> seed = fields->Integer("seed", std::numeric_limits<int64_t>::min(),
                                                      std::numeric_limits<int64_t>::max());
  if (seed.has_value()) request->seed = static_cast<uint64_t>(*seed);
  const std::optional<int64_t> count = fields->Integer("n", 1, 128);
  request->sample_count = static_cast<int32_t>(count.value_or(1));
}

void ReadBiases(RequestFields* fields, local_engine::Request* request) {
  const ordered_json* biases = fields->Find("logit_bias");
  if (biases == nullptr) return;
  if (!biases->is_object()) return fields->Refuse("logit_bias", "is not an object");
  for (const auto& [key, value] : biases->items()) {
    const bool digits =
        !key.empty() && key.size() < 9 && key.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) return fields->Refuse("logit_bias", "has a key that is no token id");
    const double bias = value.is_number() ? value.get<double>() : 1000;
    if (!(bias >= -100 && bias <= 100)) {
      return fields->Refuse("logit_bias", "has a bias that is no number from -100 to 100");
    }
    request->biases.push_back({.token_id = std::stoi(key), .bias = static_cast<float>(bias)});
  }
}

void ReadEnds(RequestFields* fields, local_engine::Request* request) {
  request->stop_texts = fields->Texts("stop", kMostStops);
  request->ignore_end = fields->Bool("ignore_eos").value_or(false);
  const ordered_json* ids = fields->Find("stop_token_ids");
  if (ids == nullptr) return;
  if (!ids->is_array()) return fields->Refuse("stop_token_ids", "is not a list");
  for (const ordered_json& id : *ids) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > kMostTokens) {
      return fields->Refuse("stop_token_ids", "has an entry that is no token id");
    }
    request->stop_tokens.push_back(id.get<int32_t>());
  }
}

void ReadStreaming(RequestFields* fields, ApiRequest* request) {
  request->stream = fields->Bool("stream").value_or(false);
  const ordered_json* options = fields->Find("stream_options");
  if (options == nullptr) return;
  if (!options->is_object()) return fields->Refuse("stream_options", "is not an object");
  if (!request->stream) return fields->Refuse("stream_options", "goes with stream: true");
  RequestFields inner(*options, "stream_options.");
  request->include_usage = inner.Bool("include_usage").value_or(false);
  inner.Ignore({"include_obfuscation"});  // There is nobody on loopback to hide lengths from.
  if (const std::optional<ApiError> error = inner.Finish()) {
    fields->Refuse(error->param, error->message.substr(error->param.size() + 1), error->code);
  }
}

void ReadResponseFormat(RequestFields* fields, ApiRequest* request) {
  const ordered_json* format = fields->Find("response_format");
  if (format == nullptr) return;
  const ordered_json type =
      format->is_object() ? format->value("type", ordered_json()) : ordered_json();
  if (type == "text") return;
  OutputForm form;
  if (type == "json_object") {
    form.kind = OutputForm::Kind::kJsonObject;
  } else if (type == "json_schema") {
    const ordered_json described = format->value("json_schema", ordered_json());
    if (!described.is_object() || !described.contains("schema")) {
      return fields->Refuse("response_format.json_schema", "has no schema");
    }
    form.kind = OutputForm::Kind::kJsonSchema;
    form.json_schema = described["schema"].dump();
  } else {
    return fields->Refuse("response_format", "is none of text, json_object and json_schema",
                          "unsupported_value");
  }
  if (!request->tool_names.empty()) {
    return fields->Refuse(
        "response_format",
        "goes without tools here, but for tool_choice \"none\": a call is no JSON",
        "unsupported_value");
  }
  request->form = std::move(form);
}

void ReadChat(RequestFields* fields, ApiRequest* request) {
  ReadMessages(fields, request);
  ReadTools(fields, request);
  ReadResponseFormat(fields, request);
  local_engine::Request& engine = request->engine_request;
  const std::optional<int64_t> old_name = fields->Integer("max_tokens", 1, kMostTokens);
  const std::optional<int64_t> max = fields->Integer("max_completion_tokens", 1, kMostTokens);
  request->all_that_fits = !max.has_value() && !old_name.has_value();
  engine.max_tokens = static_cast<int32_t>(max.value_or(old_name.value_or(0)));
  engine.logprobs = fields->Bool("logprobs").value_or(false);
  const std::optional<int64_t> top = fields->Integer("top_logprobs", 0, kMostTopLogprobs);
  if (top.value_or(0) > 0 && !engine.logprobs) {
    fields->Refuse("top_logprobs", "goes with logprobs: true");
  }
  engine.top_logprobs = static_cast<int32_t>(top.value_or(0));

  ordered_json variables = ordered_json::object();
  if (const ordered_json* given = fields->Find("chat_template_kwargs")) {
    if (!given->is_object()) return fields->Refuse("chat_template_kwargs", "is not an object");
    variables = *given;
  }
  if (const auto effort = fields->Text("reasoning_effort")) variables["reasoning_effort"] = *effort;
  if (!variables.empty()) request->template_variables_json = variables.dump();
}

void ReadPrompt(RequestFields* fields, ApiRequest* request) {
  const ordered_json* prompt = fields->Find("prompt");
  if (prompt != nullptr && prompt->is_array() && prompt->size() == 1 &&
      (prompt->front().is_string() || prompt->front().is_array())) {
    prompt = &prompt->front();
  }
  if (prompt != nullptr && prompt->is_string()) {
    request->prompt_text = prompt->get<std::string>();
    return;
  }
  bool ids = prompt != nullptr && prompt->is_array();
  if (ids) {
    for (const ordered_json& id : *prompt) {
      ids = ids && id.is_number_unsigned() && id.get<uint64_t>() <= kMostTokens;
      if (ids) request->engine_request.prompt.push_back(id.get<int32_t>());
    }
  }
  if (!ids) fields->Refuse("prompt", "is not one text or one list of token ids");
}

void ReadCompletion(RequestFields* fields, ApiRequest* request) {
  ReadPrompt(fields, request);
  local_engine::Request& engine = request->engine_request;
  const std::optional<int64_t> max = fields->Integer("max_tokens", 0, kMostTokens);
  engine.max_tokens = static_cast<int32_t>(max.value_or(16));
  const std::optional<int64_t> logprobs = fields->Integer("logprobs", 0, kMostTopLogprobs);
  engine.logprobs = logprobs.has_value();
  engine.top_logprobs = static_cast<int32_t>(logprobs.value_or(0));
  request->echo = fields->Bool("echo").value_or(false);
  engine.prompt_logprobs = request->echo && engine.logprobs;
  if (request->echo && request->stream) {
    fields->Refuse("echo", "goes without stream", "unsupported_parameter");
  }
  const std::optional<int64_t> best_of = fields->Integer("best_of", 1, 128);
  if (best_of.has_value() && *best_of != engine.sample_count) {
    fields->Refuse("best_of", "is not supported but as n", "unsupported_parameter");
  }
  if (fields->Text("suffix").has_value()) {
    fields->Refuse("suffix", "is not supported", "unsupported_parameter");
  }
}

}  // namespace

std::optional<ApiError> ReadRequest(Endpoint endpoint, std::string_view body, ApiRequest* request) {
  if (const std::string bound = ExceededBound(body); !bound.empty()) {
    return ApiError{400, "the body is " + bound};
  }
  const ordered_json json = ordered_json::parse(body, nullptr, false);
  if (json.is_discarded()) return ApiError{400, "the body is not JSON in UTF-8"};
  if (!json.is_object()) return ApiError{400, "the body is not a JSON object"};
  request->endpoint = endpoint;
  RequestFields fields(json);
  fields.Ignore(kIgnored);
  request->model = fields.Text("model").value_or("");
  if (request->model.empty()) fields.Refuse("model", "is not the name of a model");
  ReadSampling(&fields, &request->engine_request);
  ReadBiases(&fields, &request->engine_request);
  ReadEnds(&fields, &request->engine_request);
  ReadStreaming(&fields, request);
  request->return_token_ids = fields.Bool("return_token_ids").value_or(false);
  if (endpoint == Endpoint::kChat) {
    ReadChat(&fields, request);
  } else {
    ReadCompletion(&fields, request);
  }
  return fields.Finish();
}

}  // namespace reenact::engine_server
