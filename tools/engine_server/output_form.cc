#include "tools/engine_server/output_form.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/grammar/json_grammar.h"

namespace reenact::engine_server {
namespace {

using local_engine::Grammar;
using local_engine::JsonGrammar;
using Element = Grammar::Element;
using Sequence = Grammar::Sequence;

// How a family of models writes a call: what stands before and after the object, and what it calls
// the arguments.
struct CallForm {
  std::string_view marker;
  std::string_view open;
  std::string_view close;
  std::string_view arguments;
};

constexpr CallForm kHermes = {"<tool_call>", "", "</tool_call>", "arguments"};
constexpr CallForm kMistral = {"[TOOL_CALLS]", "[", "]", "arguments"};
constexpr CallForm kLlama = {"", "", "", "parameters"};

std::optional<CallForm> CallFormOf(std::string_view chat_template) {
  const auto has = [chat_template](std::string_view text) {
    return chat_template.find(text) != std::string_view::npos;
  };
  if (has("[ARGS]")) return std::nullopt;  // [TOOL_CALLS]f[ARGS]{...}: other than what follows.
  if (has("[TOOL_CALLS]")) return kMistral;
  if (has("<tool_call>")) return kHermes;
  if (has("\"parameters\": ") && has("\"name\": ")) return kLlama;
  return std::nullopt;
}

ApiError Refusal(const absl::Status& status, const std::string& param) {
  return {400, param + ": " + std::string(status.message()), param,
          absl::IsUnimplemented(status) ? "unsupported_value" : ""};
}

Element Word(Grammar* grammar, std::string_view name) {
  return grammar->AddRule({Grammar::Literal("\"" + std::string(name) + "\"")});
}

// {"name": "f", "arguments": {...}}, with the model's own spaces.
absl::StatusOr<Element> AddCall(const ForcedTool& tool, std::string_view arguments_name,
                                JsonGrammar* json) {
  Element arguments = json->object();
  if (!tool.parameters.empty()) {
    const absl::StatusOr<Element> schema = local_engine::AddJsonSchema(tool.parameters, json);
    if (!schema.ok()) return schema.status();
    arguments = *schema;
  }
  Grammar* grammar = json->grammar();
  const Element& space = json->space();
  const Element colon = Grammar::Bytes(":");
  const std::string name = nlohmann::ordered_json(tool.name).dump();
  return grammar->AddRule(
      {Grammar::Join({{Grammar::Bytes("{"), space, Word(grammar, "name"), space, colon, space},
                      Grammar::Literal(name),
                      {space, Grammar::Bytes(","), space, Word(grammar, arguments_name), space,
                       colon, space, arguments, space, Grammar::Bytes("}")}})});
}

std::optional<ApiError> MakeCallGrammar(const OutputForm& form, std::string_view chat_template,
                                        Grammar* grammar) {
  const std::optional<CallForm> call_form = CallFormOf(chat_template);
  if (!call_form.has_value()) {
    return ApiError{400,
                    "tool_choice cannot force a call: the chat template of this model writes calls "
                    "in no form that is known here, or none",
                    "tool_choice", "unsupported_value"};
  }
  JsonGrammar json(grammar);
  const Element call = grammar->AddRule();
  for (const ForcedTool& tool : form.tools) {
    const absl::StatusOr<Element> of_tool = AddCall(tool, call_form->arguments, &json);
    if (!of_tool.ok()) return Refusal(of_tool.status(), "tools");
    grammar->AddAlternative(call, {*of_tool});
  }
  Sequence whole = {call};
  if (!call_form->marker.empty()) {
    const Sequence space = {json.space()};
    const Sequence open = Grammar::Literal(call_form->open);
    whole = Grammar::Join({Grammar::Literal(call_form->marker), space, open,
                           open.empty() ? open : space, whole, space,
                           Grammar::Literal(call_form->close)});
  }
  grammar->set_root(grammar->AddRule({whole}));
  for (const char* marker : {"<tool_call>", "</tool_call>", "[TOOL_CALLS]"}) {
    grammar->AddMarker(marker);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ApiError> MakeGrammar(const OutputForm& form, std::string_view chat_template,
                                    Grammar* grammar) {
  if (form.kind == OutputForm::Kind::kToolCall)
    return MakeCallGrammar(form, chat_template, grammar);
  if (form.kind == OutputForm::Kind::kJsonObject) {
    *grammar = local_engine::AnyJsonObject();
    return std::nullopt;
  }
  absl::StatusOr<Grammar> of_schema = local_engine::JsonOfSchema(form.json_schema);
  if (!of_schema.ok()) return Refusal(of_schema.status(), "response_format");
  *grammar = *std::move(of_schema);
  return std::nullopt;
}

}  // namespace reenact::engine_server
