#include "schema/internal/chat_fields.h"

#include <algorithm>
#include <utility>
#include <vector>

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

void NoteLogprobFindings(const Choice& choice, AnomalyList* anomalies) {
  for (const std::string& finding : choice.logprobs.anomalies) {
    anomalies->Note(WithChoice(finding, choice.index));
  }
  for (const std::string& finding : choice.refusal_logprobs.anomalies) {
    anomalies->Note("refusal_" + WithChoice(finding, choice.index));
  }
}

}  // namespace reenact::schema::internal
