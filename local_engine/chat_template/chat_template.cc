#include "local_engine/chat_template/chat_template.h"

#include "absl/status/status.h"

#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/json.h"
#include "local_engine/chat_template/internal/parser.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

absl::Status ToStatus(const TemplateError& error, const std::string& where) {
  const std::string message = where.empty() ? error.what() : where + ": " + error.what();
  switch (error.fault()) {
    case TemplateFault::kRefused:
      return absl::FailedPreconditionError(message);
    case TemplateFault::kLimit:
      return absl::ResourceExhaustedError(message);
    case TemplateFault::kUnsupported:
      return absl::UnimplementedError(message);
    default:
      return absl::InvalidArgumentError(message);
  }
}

Value ParseInput(std::string_view json, const char* name) {
  if (json.empty()) return Value::MakeNone();
  try {
    return ParseJson(json);
  } catch (const TemplateError& error) {
    throw TemplateError(std::string(name) + ": " + error.what(), error.fault());
  }
}

Variables ReadVariables(const ChatTemplateInput& input) {
  Variables variables;
  variables.emplace_back("messages", ParseInput(input.messages_json, "messages"));
  variables.emplace_back("tools", ParseInput(input.tools_json, "tools"));
  variables.emplace_back("documents", ParseInput(input.documents_json, "documents"));
  variables.emplace_back("add_generation_prompt", Value::Bool(input.add_generation_prompt));
  for (const auto& [name, token] : input.special_tokens)
    variables.emplace_back(name, Value::String(token));
  const Value more = ParseInput(input.variables_json, "variables");
  if (more.IsNone()) return variables;
  if (more.AsDict() == nullptr) throw TemplateError("variables: not a JSON object");
  for (const auto& [name, value] : more.AsDict()->entries())
    variables.emplace_back(name.Utf8(), value);
  return variables;
}

}  // namespace

struct ChatTemplate::Tree {
  Body body;
};

absl::StatusOr<ChatTemplate> ChatTemplate::Parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return absl::ResourceExhaustedError("a chat template of " + std::to_string(source.size()) +
                                        " bytes; at most " + std::to_string(kMaxSourceBytes) +
                                        " are read");
  }
  if (const std::optional<size_t> bad = FindInvalidUtf8(source)) {
    return absl::InvalidArgumentError("a chat template that is not UTF-8 at byte " +
                                      std::to_string(*bad));
  }
  try {
    return ChatTemplate(std::make_shared<const Tree>(Tree{ParseTemplate(source)}));
  } catch (const TemplateError& error) {
    return ToStatus(error, "");
  }
}

absl::StatusOr<std::string> ChatTemplate::Render(const ChatTemplateInput& input,
                                                 const ChatTemplateLimits& limits) const {
  Variables variables;
  try {
    variables = ReadVariables(input);
  } catch (const TemplateError& error) {
    return ToStatus(error, "");
  }
  Interpreter interpreter({limits.work, limits.output_bytes}, input.now);
  try {
    return interpreter.Run(tree_->body, std::move(variables));
  } catch (const TemplateError& error) {
    return ToStatus(error, interpreter.Where());
  }
}

}  // namespace reenact::local_engine
