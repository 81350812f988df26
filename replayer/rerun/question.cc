#include "replayer/rerun/question.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "schema/json_view.h"

namespace reenact::rerun {
namespace {

using schema::JsonDocument;
using schema::JsonValue;
using schema::ModelDialect;

// Of the recorded request headers, those that decide what is answered.
constexpr std::array<std::string_view, 2> kMeaningfulHeaders = {"anthropic-version",
                                                                "anthropic-beta"};
constexpr std::string_view kResponsesLogprobs = "\"message.output_text.logprobs\"";

// A request under change: keeps its text and what was changed.
class Edit {
 public:
  Edit(std::string text, std::vector<std::string>* changes)
      : text_(std::move(text)), changes_(changes) {}

  void Set(std::string_view key, const std::string& value) {
    std::optional<std::string> edited = WithMember(text_, key, value);
    if (!edited || *edited == text_) return;
    text_ = *std::move(edited);
    changes_->emplace_back(key);
  }

  // The member as it is written; empty where it is absent or null.
  std::string Raw(std::string_view key) const {
    const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(text_);
    if (document == nullptr) return "";
    const JsonValue value = document->root()[key];
    return value.is_present() && !value.is_null() ? std::string(value.raw()) : "";
  }

  bool Has(std::string_view key) const { return !Raw(key).empty(); }

  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  std::vector<std::string>* const changes_;
};

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void AskForLogprobs(ModelDialect dialect, int64_t top, Edit* edit) {
  switch (dialect) {
    case ModelDialect::kOpenAiChat:
      if (edit->Raw("logprobs") == "true") return;
      edit->Set("logprobs", "true");
      if (top > 0) edit->Set("top_logprobs", std::to_string(top));
      return;
    case ModelDialect::kOpenAiCompletions:
      if (!edit->Has("logprobs")) edit->Set("logprobs", std::to_string(top));
      return;
    case ModelDialect::kOpenAiResponses: {
      std::string include = edit->Raw("include");
      if (include.find(kResponsesLogprobs) != std::string::npos) return;
      if (include.size() < 2 || include.back() != ']') include = "[]";
      include.pop_back();
      const bool first = include.find('"') == std::string::npos;
      edit->Set("include", include + (first ? "" : ",") + std::string(kResponsesLogprobs) + "]");
      if (top > 0) edit->Set("top_logprobs", std::to_string(top));
      return;
    }
    default:
      return;
  }
}

void LimitTokens(ModelDialect dialect, int64_t max_tokens, Edit* edit) {
  const char* key = "max_tokens";
  if (dialect == ModelDialect::kOpenAiResponses) key = "max_output_tokens";
  if (dialect == ModelDialect::kOpenAiChat && edit->Has("max_completion_tokens")) {
    key = "max_completion_tokens";
  }
  edit->Set(key, std::to_string(max_tokens));
}

bool HasSeed(ModelDialect dialect) {
  return dialect == ModelDialect::kOpenAiChat || dialect == ModelDialect::kOpenAiCompletions;
}

void Apply(const RequestEdits& edits, ModelDialect dialect, Edit* edit) {
  if (edits.model) edit->Set("model", Quoted(*edits.model));
  if (edits.logprobs) AskForLogprobs(dialect, edits.top_logprobs, edit);
  if (edits.token_ids && HasSeed(dialect)) edit->Set("return_token_ids", "true");
  if (edits.seed && HasSeed(dialect)) edit->Set("seed", std::to_string(*edits.seed));
  if (edits.max_tokens) LimitTokens(dialect, *edits.max_tokens, edit);
}

}  // namespace

std::optional<std::string> WithMember(std::string_view object, std::string_view key,
                                      std::string_view value) {
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(object);
  if (document == nullptr || !document->root().is_object()) return std::nullopt;
  const JsonValue root = document->root();
  std::string text(object);
  if (const JsonValue old = root[key]; old.is_present()) {
    text.replace(old.begin_offset(), old.end_offset() - old.begin_offset(), value);
    return text;
  }
  const std::string member = Quoted(std::string(key)) + ":" + std::string(value);
  text.insert(root.end_offset() - 1, (root.size() == 0 ? "" : ",") + member);
  return text;
}

Question QuestionOf(const schema::Event& call, const RequestEdits& edits) {
  Question question;
  question.dialect = schema::DialectOf(call.provider, call.endpoint, call.request.bytes);
  question.provider = call.provider;
  question.endpoint = call.endpoint;
  question.name = call.name;
  question.scope = call.scope;
  for (const auto& header : call.request_headers) {
    std::string name = header.first;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
    if (std::find(kMeaningfulHeaders.begin(), kMeaningfulHeaders.end(), name) !=
        kMeaningfulHeaders.end()) {
      question.headers.emplace_back(std::move(name), header.second);
    }
  }
  Edit edit(call.request.bytes, &question.changes);
  Apply(edits, question.dialect, &edit);
  question.request = edit.Take();
  return question;
}

}  // namespace reenact::rerun
