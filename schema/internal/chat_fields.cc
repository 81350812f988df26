#include "schema/internal/chat_fields.h"

#include <algorithm>
#include <utility>

#include "schema/internal/logprob_reader.h"
#include "schema/internal/utf8.h"

namespace reenact::schema::internal {
namespace {

void TakeFirst(JsonValue value, std::string_view changed, std::string* out,
               AnomalyList* anomalies) {
  if (!value.is_string()) return;
  std::string text = value.AsString();
  if (text.empty()) return;
  if (out->empty()) {
    *out = std::move(text);
  } else if (*out != text) {
    anomalies->Note(changed);
  }
}

Presence PresenceOf(JsonValue value) {
  if (value.is_null()) return Presence::kNull;
  if (!value.is_string()) return Presence::kAbsent;
  return value.raw().size() <= 2 ? Presence::kEmpty : Presence::kValue;
}

// "tokens" and "requests" name the budget that ran out, not what went wrong; "error" says nothing.
bool IsTelling(std::string_view type) {
  return !type.empty() && type != "tokens" && type != "requests" && type != "error";
}

std::string KindOf(JsonValue error) {
  const std::string type = error["type"].AsString();
  if (IsTelling(type)) return type;
  const JsonValue code = error["code"];
  if (std::string text = code.AsString(); !text.empty()) return text;
  if (std::string status = error["status"].AsString(); !status.empty()) return status;
  if (code.is_number()) return std::string(code.raw());
  return type;
}

std::string ReasoningOf(JsonValue details) {
  std::string text;
  for (size_t i = 0; i < details.size(); ++i) {
    const JsonValue detail = details[i];
    text += detail["text"].AsString();
    text += detail["summary"].AsString();
  }
  return text;
}

// "a:token=3" of choice 1 becomes "a:choice=1,token=3"; "a" becomes "a:choice=1".
std::string WithChoice(std::string_view finding, int64_t choice_index) {
  if (choice_index == 0) return std::string(finding);
  const std::string choice = ":choice=" + std::to_string(choice_index);
  const size_t colon = finding.find(':');
  if (colon == std::string_view::npos) return std::string(finding) + choice;
  return std::string(finding.substr(0, colon)) + choice + "," +
         std::string(finding.substr(colon + 1));
}

constexpr size_t kMaxFacts = 96;
constexpr size_t kMaxFactSize = 256;
constexpr int kDeepestFact = 4;

void SetFact(std::string name, std::string_view value, Tags* facts) {
  const std::string shown(CutAtCodePoint(value, kMaxFactSize));
  const auto known = std::find_if(facts->begin(), facts->end(),
                                  [&](const auto& fact) { return fact.first == name; });
  if (known != facts->end()) {
    known->second = shown;
  } else if (facts->size() < kMaxFacts) {
    facts->emplace_back(std::move(name), shown);
  }
}

// Recursion is bounded by `levels`.
void NoteFactsBelow(const std::string& name, JsonValue value, int levels, Tags* facts) {
  if (!value.is_object() && !value.is_array()) {
    const bool is_text = value.is_string();
    SetFact(name, is_text ? std::string_view(value.AsString()) : value.raw(), facts);
    return;
  }
  if (levels == 0) return;
  for (size_t i = 0; i < value.size() && i < kMaxFacts; ++i) {
    const std::string below =
        value.is_object() ? "." + value.KeyAt(i) : "[" + std::to_string(i) + "]";
    NoteFactsBelow(name + below, value[i], levels - 1, facts);
  }
}

}  // namespace

void ReadIdentity(JsonValue object, ModelView* view, AnomalyList* anomalies) {
  TakeFirst(object["id"], "id_changed", &view->response_id, anomalies);
  TakeFirst(object["model"], "model_changed", &view->served_model, anomalies);
  const JsonValue fingerprint = object["system_fingerprint"];
  TakeFirst(fingerprint, "system_fingerprint_changed", &view->system_fingerprint, anomalies);
  view->fingerprint_presence = std::max(view->fingerprint_presence, PresenceOf(fingerprint));
  if (std::string tier = object["service_tier"].AsString(); !tier.empty()) {
    view->service_tier = std::move(tier);
  }
}

void ReadUsage(JsonValue usage, Usage* out) {
  if (!usage.is_object()) return;
  out->prompt_tokens = usage["prompt_tokens"].AsInt64();
  out->completion_tokens = usage["completion_tokens"].AsInt64();
  out->total_tokens = usage["total_tokens"].AsInt64();
  out->cached_tokens = usage["prompt_tokens_details"]["cached_tokens"].AsInt64();
  out->reasoning_tokens = usage["completion_tokens_details"]["reasoning_tokens"].AsInt64();
  // SGLang keeps it one level up.
  if (!out->reasoning_tokens) out->reasoning_tokens = usage["reasoning_tokens"].AsInt64();
}

bool IsTruthy(JsonValue value) {
  if (!value.is_present() || value.is_null()) return false;
  if (value.is_bool()) return value.AsBool();
  if (value.is_string()) return value.raw().size() > 2;
  if (value.is_number()) return value.AsDouble().value_or(0) != 0;
  return true;
}

void ReadError(JsonValue error, ModelView* view) {
  if (!view->error_kind.empty() || !view->error_message.empty()) return;
  constexpr int kDeepestWrapping = 4;
  for (int i = 0; i < kDeepestWrapping && IsTruthy(error["error"]); ++i) error = error["error"];
  view->error_message = error.is_string() ? error.AsString() : error["message"].AsString();
  view->error_kind = KindOf(error);
  if (!view->error_kind.empty()) return;
  const bool has_status = view->http_status >= 300;
  view->error_kind = has_status ? "http_" + std::to_string(view->http_status) : "error";
}

void ReadTopLevelError(JsonValue document, ModelView* view) {
  const bool failed_status = view->http_status >= 300;
  if (IsTruthy(document["error"])) {
    ReadError(document["error"], view);
  } else if (document["object"].AsString() == "error") {  // SGLang
    ReadError(document, view);
  } else if (failed_status && document["message"].is_string()) {
    ReadError(document, view);
  } else if (failed_status && document["detail"].is_string()) {  // FastAPI
    view->error_message = document["detail"].AsString();
  }
}

void ReadInputs(JsonValue input, std::string_view role, ModelView* view) {
  const auto add = [role, view](JsonValue text) {
    const bool is_ids = text.is_array();
    view->messages.push_back(
        {.role = std::string(role),
         .text = is_ids ? "[" + std::to_string(text.size()) + " token ids]" : text.AsString()});
  };
  if (input.is_array() && !input[0].is_number()) {
    for (size_t i = 0; i < input.size(); ++i) add(input[i]);
  } else if (input.is_string() || input.is_array()) {
    add(input);
  }
}

std::string ReadText(JsonValue content) {
  if (content.is_string()) return content.AsString();
  std::string joined;
  if (!content.is_array()) return joined;
  for (size_t i = 0; i < content.size(); ++i) {
    const JsonValue part = content[i];
    if (i > 0) joined += '\n';
    if (part.is_string()) {
      joined += part.AsString();
    } else if (part["text"].is_string()) {
      joined += part["text"].AsString();
    } else {
      joined += "[" + part["type"].AsString() + "]";
    }
  }
  return joined;
}

std::string ReadReasoning(JsonValue message) {
  std::vector<std::string> spellings;
  spellings.push_back(message["reasoning"].AsString());
  spellings.push_back(message["reasoning_content"].AsString());
  spellings.push_back(ReasoningOf(message["reasoning_details"]));
  std::string joined;
  for (size_t i = 0; i < spellings.size(); ++i) {
    bool repeated = false;
    for (size_t k = 0; k < i; ++k) repeated = repeated || spellings[k] == spellings[i];
    if (!repeated) joined += spellings[i];
  }
  return joined;
}

std::string ReadStop(JsonValue choice) {
  for (const std::string_view name : {"stop_reason", "matched_stop"}) {
    const JsonValue stop = choice[name];
    if (stop.is_string()) return stop.AsString();
    if (stop.is_number()) return std::string(stop.raw());
  }
  return {};
}

void AppendTokenIds(JsonValue list, std::vector<int64_t>* ids) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (const std::optional<int64_t> id = list[i].AsInt64()) ids->push_back(*id);
  }
}

void ReadServerExtras(JsonValue object, ModelView* view, AnomalyList* anomalies) {
  if (view->prompt_token_ids.empty()) {
    AppendTokenIds(object["prompt_token_ids"], &view->prompt_token_ids);
  }
  if (object["prompt_logprobs"].is_array() && view->prompt_logprobs.tokens.empty()) {
    view->prompt_logprobs =
        ReadPromptLogprobs(object["prompt_logprobs"], object["prompt_token_ids"]);
    for (const std::string& finding : view->prompt_logprobs.anomalies) {
      anomalies->Note("prompt_" + finding);
    }
  }
  for (const std::string_view name :
       {"timings", "metrics", "meta_info", "prompt_filter_results", "content_filter_results"}) {
    NoteFacts(name, object[name], view);
  }
  NoteFacts("generation_settings", object["__verbose"]["generation_settings"], view);
}

void NoteFacts(std::string_view name, JsonValue value, ModelView* view) {
  if (!value.is_present() || value.is_null()) return;
  NoteFactsBelow(std::string(name), value, kDeepestFact, &view->facts);
}

void NoteLogprobFindings(const Choice& choice, AnomalyList* anomalies) {
  for (const std::string& finding : choice.logprobs.anomalies) {
    anomalies->Note(WithChoice(finding, choice.index));
  }
  for (const std::string& finding : choice.refusal_logprobs.anomalies) {
    anomalies->Note("refusal_" + WithChoice(finding, choice.index));
  }
}

}  // namespace reenact::schema::internal
