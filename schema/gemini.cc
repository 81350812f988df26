#include "schema/gemini.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "schema/internal/chat_fields.h"
#include "schema/internal/logprob_reader.h"
#include "schema/internal/surrogates.h"

namespace reenact::schema {
namespace {

using internal::AnomalyList;

constexpr size_t kMaxCandidates = 128;
constexpr size_t kMaxToolCalls = 128;

// Servers and clients write both spellings of a name.
JsonValue Either(JsonValue value, std::string_view camel, std::string_view snake) {
  const JsonValue found = value[camel];
  return found.is_present() ? found : value[snake];
}

// A call of a function, or of the provider's own code tool, whose argument is the code.
ToolCall ReadGeminiCall(JsonValue call) {
  ToolCall read;
  read.id = call["id"].AsString();
  if (call["code"].is_string()) {
    read.type = "executable_code";
    read.name = call["language"].AsString();
    read.arguments = call["code"].AsString();
    return read;
  }
  read.type = "function";
  read.name = call["name"].AsString();
  read.arguments = std::string(call["args"].raw());
  return read;
}

// What a part holds that is no text: "[inlineData]".
std::string ReadOtherPart(JsonValue part) {
  for (size_t i = 0; i < part.size(); ++i) {
    const std::string key = part.KeyAt(i);
    if (key != "thought" && key != "thoughtSignature" && part[i].is_object())
      return "[" + key + "]";
  }
  return {};
}

struct Candidate {
  explicit Candidate(bool logprobs_asked) : logprobs(logprobs_asked) {}

  void Add(JsonValue value, AnomalyList* anomalies);
  void AddPart(JsonValue part, std::string* added_text, AnomalyList* anomalies);

  Choice choice;
  internal::LogprobMerger logprobs;
};

void Candidate::Add(JsonValue value, AnomalyList* anomalies) {
  std::string added_text;
  const JsonValue parts = value["content"]["parts"];
  for (size_t i = 0; i < parts.size(); ++i) AddPart(parts[i], &added_text, anomalies);
  if (std::string reason = value["finishReason"].AsString(); !reason.empty()) {
    choice.finish_reason = std::move(reason);
  }
  logprobs.Add(
      {.logprobs = value["logprobsResult"], .list_name = "chosenCandidates", .text = added_text});
  const JsonValue ratings = value["safetyRatings"];
  for (size_t i = 0; i < ratings.size(); ++i) {
    if (ratings[i]["blocked"].AsBool()) {
      anomalies->Note("blocked:" + ratings[i]["category"].AsString().substr(0, 64));
    }
  }
}

void Candidate::AddPart(JsonValue part, std::string* added_text, AnomalyList* anomalies) {
  const JsonValue signature = Either(part, "thoughtSignature", "thought_signature");
  if (signature.is_string()) choice.sealed_reasoning.push_back(signature.AsString());
  const JsonValue call = Either(part, "functionCall", "function_call");
  const JsonValue code = Either(part, "executableCode", "executable_code");
  if (call.is_object() || code.is_object()) {
    if (choice.tool_calls.size() >= kMaxToolCalls) return anomalies->Note("too_many_tool_calls");
    choice.tool_calls.push_back(ReadGeminiCall(call.is_object() ? call : code));
    return;
  }
  const bool has_text = part["text"].is_string();
  const std::string text = has_text ? part["text"].AsString() : ReadOtherPart(part);
  if (part["thought"].AsBool()) {
    choice.reasoning += text;
    return;
  }
  if (!has_text && text.empty()) return;
  if (!choice.content) choice.content.emplace();
  *choice.content += text;
  if (has_text) *added_text += text;
}

class GeminiReader final : public internal::AnswerReader {
 public:
  GeminiReader(int64_t choices_asked, ModelView* view, AnomalyList* anomalies)
      : AnswerReader(view, anomalies), choices_asked_(choices_asked) {}

  void ReadDocument(JsonValue document) override;
  void AddRecord(JsonValue record, std::string_view event) override;
  bool FinishStream() override;

  // Nothing follows the chunk with the reason.
  std::string_view end_mark_name() const override { return {}; }

 private:
  void ReadUsage(JsonValue usage);
  void TakeChoices();

  int64_t choices_asked_;
  bool is_blocked_ = false;  // The prompt was; there are no candidates then.
  std::map<int64_t, Candidate> candidates_;
};

void GeminiReader::ReadDocument(JsonValue document) {
  AddRecord(document, {});
  internal::ReadTopLevelError(document, view());
  if (const JsonValue total = document["totalTokens"]; total.is_number()) {
    view()->usage.prompt_tokens = total.AsInt64();
  }
  const JsonValue many = document["embeddings"];
  const JsonValue one = document["embedding"]["values"];
  if (many.is_array()) view()->facts.emplace_back("embeddings", std::to_string(many.size()));
  const JsonValue vector = one.is_array() ? one : many[0]["values"];
  if (vector.is_array()) {
    view()->facts.emplace_back("dimensions", std::to_string(vector.size()));
  }
  const bool failed = !view()->error_kind.empty() || view()->http_status >= 300;
  const bool is_generation = !document["totalTokens"].is_present() && !vector.is_present();
  TakeChoices();
  if (is_generation && !failed && !is_blocked_ && view()->choices.empty()) {
    anomalies()->Note("no_choices");
  }
  for (const Choice& choice : view()->choices) {
    if (choice.finish_reason.empty()) {
      anomalies()->NoteAt("finish_reason_absent", "choice", choice.index);
    }
  }
}

void GeminiReader::AddRecord(JsonValue record, std::string_view /*event*/) {
  if (view()->served_model.empty()) view()->served_model = record["modelVersion"].AsString();
  if (view()->response_id.empty()) view()->response_id = record["responseId"].AsString();
  internal::NoteFacts("createTime", record["createTime"], view());
  ReadUsage(record["usageMetadata"]);
  const JsonValue blocked = record["promptFeedback"]["blockReason"];
  if (blocked.is_string()) {
    is_blocked_ = true;
    anomalies()->Note("blocked:" + blocked.AsString().substr(0, 64));
  }
  const JsonValue candidates = record["candidates"];
  for (size_t i = 0; i < candidates.size(); ++i) {
    // The first one's index is 0 and, as proto3 has it, not sent.
    const int64_t index = candidates[i]["index"].AsInt64().value_or(static_cast<int64_t>(i));
    if (candidates_.size() >= kMaxCandidates && !candidates_.contains(index)) {
      anomalies()->Note("too_many_choices");
      continue;
    }
    candidates_.try_emplace(index, view()->logprobs_asked)
        .first->second.Add(candidates[i], anomalies());
    const std::string name = "candidates[" + std::to_string(index) + "].";
    internal::NoteFacts(name + "avgLogprobs", candidates[i]["avgLogprobs"], view());
    internal::NoteFacts(name + "finishMessage", candidates[i]["finishMessage"], view());
  }
}

// Each chunk repeats the totals so far. Thoughts are counted beside the candidates.
void GeminiReader::ReadUsage(JsonValue usage) {
  if (!usage.is_object()) return;
  Usage* out = &view()->usage;
  out->prompt_tokens = usage["promptTokenCount"].AsInt64();
  out->cached_tokens = usage["cachedContentTokenCount"].AsInt64();
  out->total_tokens = usage["totalTokenCount"].AsInt64();
  out->reasoning_tokens = usage["thoughtsTokenCount"].AsInt64();
  out->completion_tokens = usage["candidatesTokenCount"].AsInt64();
  int64_t sum = out->completion_tokens.value_or(0);
  if (out->reasoning_tokens && !__builtin_add_overflow(sum, *out->reasoning_tokens, &sum)) {
    out->completion_tokens = sum;
  }
  if (usage["serviceTier"].is_string()) view()->service_tier = usage["serviceTier"].AsString();
  const JsonValue traffic = usage["trafficType"];
  internal::NoteFacts("trafficType", traffic, view());
}

void GeminiReader::TakeChoices() {
  for (auto& [index, candidate] : candidates_) {
    Choice choice = std::move(candidate.choice);
    choice.index = index;
    choice.logprobs = candidate.logprobs.Take();
    internal::NoteLogprobFindings(choice, anomalies());
    if (choice.content) internal::JoinSurrogates(&*choice.content);
    internal::JoinSurrogates(&choice.reasoning);
    view()->choices.push_back(std::move(choice));
  }
}

bool GeminiReader::FinishStream() {
  TakeChoices();
  if (is_blocked_) return true;
  const std::vector<Choice>& choices = view()->choices;
  if (view()->end_marker && choices.empty() && view()->error_kind.empty()) {
    anomalies()->Note("no_choices");
  }
  return static_cast<int64_t>(choices.size()) >= choices_asked_ &&
         std::all_of(choices.begin(), choices.end(),
                     [](const Choice& choice) { return !choice.finish_reason.empty(); });
}

// Answers of functions are messages of their own in the view: each belongs to another call.
void ReadContent(JsonValue content, std::string_view default_role, ModelView* view) {
  RequestMessage said;
  said.role = content["role"].is_string() ? content["role"].AsString() : std::string(default_role);
  const JsonValue parts = content["parts"];
  const size_t before = view->messages.size();
  bool has_text = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const JsonValue part = parts[i];
    const JsonValue answer = Either(part, "functionResponse", "function_response");
    const JsonValue call = Either(part, "functionCall", "function_call");
    if (answer.is_object()) {
      std::string id =
          answer["id"].is_string() ? answer["id"].AsString() : answer["name"].AsString();
      view->messages.push_back({.role = said.role,
                                .text = std::string(answer["response"].raw()),
                                .tool_call_id = std::move(id)});
    } else if (call.is_object()) {
      said.tool_calls.push_back(ReadGeminiCall(call));
    } else {
      if (has_text) said.text += '\n';
      has_text = true;
      said.text += part["text"].is_string() ? part["text"].AsString() : ReadOtherPart(part);
    }
  }
  const bool answers_only = view->messages.size() > before && !has_text && said.tool_calls.empty();
  if (!answers_only) view->messages.push_back(std::move(said));
}

}  // namespace

int64_t ReadGeminiRequest(JsonValue request, ModelView* view, AnomalyList* /*anomalies*/) {
  view->asked_model = request["model"].AsString();
  const JsonValue config = Either(request, "generationConfig", "generation_config");
  view->logprobs_asked = Either(config, "responseLogprobs", "response_logprobs").AsBool();
  const JsonValue system = Either(request, "systemInstruction", "system_instruction");
  if (system.is_object()) ReadContent(system, "system", view);
  // embedContent takes one "content"; countTokens may wrap a whole request.
  const JsonValue wrapped = request["generateContentRequest"];
  const JsonValue contents = wrapped.is_object() ? wrapped["contents"] : request["contents"];
  for (size_t i = 0; i < contents.size() && contents.is_array(); ++i) {
    ReadContent(contents[i], "user", view);
  }
  if (contents.is_object()) ReadContent(contents, "user", view);
  if (request["content"].is_object()) ReadContent(request["content"], "input", view);
  const JsonValue batch = request["requests"];
  for (size_t i = 0; i < batch.size(); ++i) ReadContent(batch[i]["content"], "input", view);
  const std::optional<int64_t> count =
      Either(config, "candidateCount", "candidate_count").AsInt64();
  return std::max<int64_t>(1, count.value_or(1));
}

std::unique_ptr<internal::AnswerReader> MakeGeminiReader(int64_t choices_asked, ModelView* view,
                                                         AnomalyList* anomalies) {
  return std::make_unique<GeminiReader>(choices_asked, view, anomalies);
}

}  // namespace reenact::schema
