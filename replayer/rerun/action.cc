#include "replayer/rerun/action.h"

#include "schema/canonical_json.h"
#include "schema/json_view.h"

namespace reenact::rerun {

std::string CanonicalArguments(const std::string& arguments) {
  const auto document = schema::JsonDocument::Parse(arguments);
  return document != nullptr ? schema::CanonicalJson(document->root()) : arguments;
}

std::string ActionOf(const schema::ModelView& answer) {
  if (answer.end_state != schema::EndState::kComplete || answer.choices.empty()) return "";
  const schema::Choice& choice = answer.choices.front();
  if (choice.tool_calls.empty()) {
    return "answers " + (choice.refusal.empty() ? choice.content.value_or("") : choice.refusal);
  }
  std::string action = "calls";
  for (const schema::ToolCall& call : choice.tool_calls) {
    action += " " + call.name + " " + CanonicalArguments(call.arguments);
  }
  return action;
}

}  // namespace reenact::rerun
