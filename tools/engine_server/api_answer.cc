#include "tools/engine_server/api_answer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "local_engine/numerics/sha256.h"
#include "tools/engine_server/prompt_echo.h"
#include "tools/engine_server/token_logprobs.h"
#include "tools/engine_server/tool_call_text.h"

namespace reenact::engine_server {
namespace {

using local_engine::Answer;
using local_engine::FinishReason;
using nlohmann::ordered_json;

std::string Dump(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string Record(const ordered_json& json) {
  return "data: " + Dump(json) + "\n\n";
}

// One sample, as far as it has come.
struct Choice {
  explicit Choice(const ApiRequest& request) : text(request.tool_names) {}

  ToolCallText text;
  std::string content;
  ordered_json calls = ordered_json::array();
  ordered_json chat_logprobs = ordered_json::array();
  ordered_json completion_logprobs = EmptyCompletionLogprobs();
  int64_t text_offset = 0;
  std::vector<int32_t> tokens;
  std::string finish_reason;
};

}  // namespace

struct ApiAnswer::Parts {
  const ApiRequest& request;
  const local_engine::Engine& engine;
  AnswerHead head;
  std::vector<Choice> choices;
  std::string fingerprint;

  bool is_chat() const { return request.endpoint == Endpoint::kChat; }

  ordered_json Envelope(const char* chat_object) const;
  ordered_json ChunkOf(ordered_json choice) const;
  ordered_json Call(int32_t sample_index, const ToolCall& call);
  std::string CallId(int32_t sample_index, const ToolCall& call) const;
  std::string FinishName(const Choice& choice, FinishReason reason) const;
  // The logprobs of an event's token; null where there are none.
  ordered_json Logprobs(const TokenEvent& event, Choice* choice) const;
  std::string ChatRecords(const TokenEvent& event, const ToolCallText::Piece& piece,
                          const ordered_json& logprobs);
  std::string CompletionRecords(const TokenEvent& event, const ordered_json& logprobs);
  std::string ScheduleRecords(const Answer& answer) const;
  ordered_json Usage(const Answer& answer) const;
  ordered_json WholeChoice(size_t index, const Answer& answer) const;
};

ApiAnswer::ApiAnswer(const ApiRequest& request, const local_engine::Engine& engine, AnswerHead head)
    : parts_(new Parts{request, engine, std::move(head), {}, engine.identity().Fingerprint()}) {
  for (int32_t i = 0; i < request.engine_request.sample_count; ++i) {
    parts_->choices.emplace_back(request);
  }
}

ApiAnswer::~ApiAnswer() = default;

ordered_json ApiAnswer::Parts::Envelope(const char* chat_object) const {
  return {{"id", head.id},
          {"object", is_chat() ? chat_object : "text_completion"},
          {"created", head.created_s},
          {"model", head.model},
          {"system_fingerprint", fingerprint},
          {"seed", head.seed}};
}

ordered_json ApiAnswer::Parts::ChunkOf(ordered_json choice) const {
  ordered_json chunk = Envelope("chat.completion.chunk");
  chunk["choices"] = ordered_json::array({std::move(choice)});
  if (request.include_usage) chunk["usage"] = nullptr;
  return chunk;
}

// Nine letters and digits, as the strictest templates want them. It follows from the prompt and the
// call: the id is part of the next prompt with some templates, and a rerun's has to be the same.
std::string ApiAnswer::Parts::CallId(int32_t sample_index, const ToolCall& call) const {
  static constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  local_engine::Sha256 hash;
  const std::vector<int32_t>& prompt = request.engine_request.prompt;
  hash.UpdateValues(std::span<const int32_t>(prompt));
  const std::string rest =
      ordered_json{sample_index, choices[static_cast<size_t>(sample_index)].calls.size(), call.name}
          .dump(-1, ' ', false, ordered_json::error_handler_t::replace) +
      call.arguments;
  hash.Update(rest.data(), rest.size());
  const local_engine::Sha256Digest digest = hash.Finish();
  std::string id;
  for (size_t i = 0; i < 9; ++i) id += kDigits[digest[i] % kDigits.size()];
  return id;
}

ordered_json ApiAnswer::Parts::Call(int32_t sample_index, const ToolCall& call) {
  ordered_json json = {{"id", CallId(sample_index, call)},
                       {"type", "function"},
                       {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
  choices[static_cast<size_t>(sample_index)].calls.push_back(json);
  return json;
}

std::string ApiAnswer::Parts::FinishName(const Choice& choice, FinishReason reason) const {
  if (reason == FinishReason::kLength) return "length";
  return choice.calls.empty() ? "stop" : "tool_calls";
}

ordered_json ApiAnswer::Parts::Logprobs(const TokenEvent& event, Choice* choice) const {
  const std::vector<int32_t>& ends = engine.end_tokens();
  if (!event.score.has_value()) return nullptr;
  const bool is_end = std::find(ends.begin(), ends.end(), event.score->chosen.token) != ends.end();
  if (is_end && !request.engine_request.ignore_end) return nullptr;
  if (is_chat()) {
    const ordered_json entry = ChatLogprob(engine, *event.score);
    choice->chat_logprobs.push_back(entry);
    return {{"content", ordered_json::array({entry})}, {"refusal", nullptr}};
  }
  ordered_json now = EmptyCompletionLogprobs();
  int64_t offset = choice->text_offset;
  AddCompletionLogprob(engine, *event.score, &offset, &now);
  AddCompletionLogprob(engine, *event.score, &choice->text_offset, &choice->completion_logprobs);
  return now;
}

std::string ApiAnswer::Begin() {
  std::string records;
  for (size_t i = 0; parts_->is_chat() && i < parts_->choices.size(); ++i) {
    ordered_json chunk =
        parts_->ChunkOf({{"index", i},
                         {"delta", {{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}}},
                         {"logprobs", nullptr},
                         {"finish_reason", nullptr}});
    if (parts_->request.return_token_ids && i == 0) {
      chunk["prompt_token_ids"] = parts_->request.engine_request.prompt;
    }
    records += Record(chunk);
  }
  return records;
}

std::string ApiAnswer::Add(const TokenEvent& event) {
  Choice& choice = parts_->choices[static_cast<size_t>(event.sample_index)];
  if (event.token.has_value()) choice.tokens.push_back(*event.token);
  const std::string name =
      event.token.has_value() ? parts_->engine.PieceOf(*event.token) : std::string();
  ToolCallText::Piece piece = choice.text.Push(event.text, name);
  if (event.finish.has_value()) {
    ToolCallText::Piece rest = choice.text.Finish();
    piece.content += rest.content;
    std::move(rest.calls.begin(), rest.calls.end(), std::back_inserter(piece.calls));
  }
  if (!parts_->request.parallel_tool_calls) {
    piece.calls.resize(std::min<size_t>(piece.calls.size(), choice.calls.empty() ? 1 : 0));
  }
  choice.content += piece.content;
  const ordered_json logprobs = parts_->Logprobs(event, &choice);
  std::string records = parts_->is_chat() ? parts_->ChatRecords(event, piece, logprobs)
                                          : parts_->CompletionRecords(event, logprobs);
  return parts_->request.stream ? records : "";
}

std::string ApiAnswer::Parts::ChatRecords(const TokenEvent& event, const ToolCallText::Piece& piece,
                                          const ordered_json& logprobs) {
  Choice& choice = choices[static_cast<size_t>(event.sample_index)];
  const auto record = [&](ordered_json delta, const ordered_json& of_tokens,
                          const std::string& finish) {
    ordered_json json = {{"index", event.sample_index}, {"delta", std::move(delta)}};
    json["logprobs"] = of_tokens;
    json["finish_reason"] = finish.empty() ? ordered_json(nullptr) : ordered_json(finish);
    if (request.return_token_ids) {
      json["token_ids"] = ordered_json::array();
      if (event.token.has_value() && finish.empty()) json["token_ids"].push_back(*event.token);
    }
    return Record(ChunkOf(std::move(json)));
  };
  std::string records;
  ordered_json delta = ordered_json::object();
  if (!piece.content.empty()) delta["content"] = piece.content;
  for (const ToolCall& call : piece.calls) {
    const size_t index = choice.calls.size();
    ordered_json json = {{"index", index}};
    json.update(Call(event.sample_index, call));
    delta["tool_calls"].push_back(std::move(json));
  }
  const bool has_ids = request.return_token_ids && event.token.has_value();
  if (!delta.empty() || !logprobs.is_null() || has_ids) {
    records += record(std::move(delta), logprobs, "");
  }
  if (event.finish.has_value()) {
    choice.finish_reason = FinishName(choice, *event.finish);
    records += record(ordered_json::object(), nullptr, choice.finish_reason);
  }
  return records;
}

std::string ApiAnswer::Parts::CompletionRecords(const TokenEvent& event,
                                                const ordered_json& logprobs) {
  Choice& choice = choices[static_cast<size_t>(event.sample_index)];
  if (event.finish.has_value()) choice.finish_reason = FinishName(choice, *event.finish);
  const bool has_ids = request.return_token_ids && event.token.has_value();
  if (event.text.empty() && logprobs.is_null() && !event.finish.has_value() && !has_ids) return "";
  ordered_json json = {{"text", event.text}, {"index", event.sample_index}};
  json["logprobs"] = logprobs;
  json["finish_reason"] =
      event.finish.has_value() ? ordered_json(choice.finish_reason) : ordered_json(nullptr);
  if (has_ids) json["token_ids"] = ordered_json::array({*event.token});
  return Record(ChunkOf(std::move(json)));
}

ordered_json ApiAnswer::Parts::Usage(const Answer& answer) const {
  size_t completion_tokens = 0;
  for (const local_engine::Completion& completion : answer.completions) {
    completion_tokens += completion.tokens.size();
  }
  const size_t prompt_tokens = request.engine_request.prompt.size();
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", completion_tokens},
          {"total_tokens", prompt_tokens + completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", answer.completions[0].cached_positions}}}};
}

// What it followed is known when all of it was computed: a record of its own, after the last token.
std::string ApiAnswer::Parts::ScheduleRecords(const Answer& answer) const {
  std::string records;
  if (!request.return_token_ids) return records;
  for (size_t i = 0; i < choices.size(); ++i) {
    const local_engine::StockSchedule& schedule = answer.completions[i].schedule;
    if (schedule.empty()) continue;
    ordered_json json = {{"index", i}};
    if (is_chat()) {
      json["delta"] = ordered_json::object();
    } else {
      json["text"] = "";
    }
    json["logprobs"] = nullptr;
    json["finish_reason"] = choices[i].finish_reason;
    json["schedule"] = ordered_json::parse(local_engine::StockScheduleToJson(schedule));
    records += Record(ChunkOf(std::move(json)));
  }
  return records;
}

std::string ApiAnswer::End(const Answer& answer) {
  std::string records = parts_->ScheduleRecords(answer);
  if (parts_->request.include_usage) {
    ordered_json chunk = parts_->Envelope("chat.completion.chunk");
    chunk["choices"] = ordered_json::array();
    chunk["usage"] = parts_->Usage(answer);
    records += Record(chunk);
  }
  return records + "data: [DONE]\n\n";
}

std::string ApiAnswer::EndWith(const ApiError& error) {
  return "data: " + ErrorBody(error) + "\n\ndata: [DONE]\n\n";
}

ordered_json ApiAnswer::Parts::WholeChoice(size_t index, const Answer& answer) const {
  const Choice& choice = choices[index];
  ordered_json json = {{"index", index}};
  const bool with_logprobs = request.engine_request.logprobs;
  if (is_chat()) {
    ordered_json message = {{"role", "assistant"}, {"content", choice.content}};
    if (choice.content.empty() && !choice.calls.empty()) message["content"] = nullptr;
    message["refusal"] = nullptr;
    if (!choice.calls.empty()) message["tool_calls"] = choice.calls;
    json["message"] = std::move(message);
    json["logprobs"] = nullptr;
    if (with_logprobs) {
      json["logprobs"] = {{"content", choice.chat_logprobs}, {"refusal", nullptr}};
    }
  } else {
    json["text"] = choice.content;
    json["logprobs"] = with_logprobs ? choice.completion_logprobs : ordered_json(nullptr);
    if (request.echo) PutPromptBefore(request, engine, answer, &json);
  }
  json["finish_reason"] = choice.finish_reason;
  if (request.return_token_ids) json["token_ids"] = choice.tokens;
  const local_engine::StockSchedule& schedule = answer.completions[index].schedule;
  if (request.return_token_ids && !schedule.empty()) {
    json["schedule"] = ordered_json::parse(local_engine::StockScheduleToJson(schedule));
  }
  return json;
}

std::string ApiAnswer::Whole(const Answer& answer) {
  ordered_json body = parts_->Envelope("chat.completion");
  ordered_json choices = ordered_json::array();
  for (size_t i = 0; i < parts_->choices.size(); ++i)
    choices.push_back(parts_->WholeChoice(i, answer));
  body["choices"] = std::move(choices);
  body["usage"] = parts_->Usage(answer);
  if (parts_->request.return_token_ids) {
    body["prompt_token_ids"] = parts_->request.engine_request.prompt;
  }
  return Dump(body);
}

}  // namespace reenact::engine_server
