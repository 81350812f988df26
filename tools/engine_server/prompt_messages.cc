#include "tools/engine_server/prompt_messages.h"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace reenact::engine_server {
namespace {

using nlohmann::ordered_json;

// What is wrong with a content that is a list of parts, in words; else makes it one text.
std::string JoinParts(ordered_json* content) {
  std::string text;
  bool first = true;
  for (const ordered_json& part : *content) {
    const auto type = part.is_object() ? part.find("type") : part.end();
    if (!part.is_object() || type == part.end() || !type->is_string()) {
      return "has a part without a type";
    }
    const auto words = part.find("text");
    if (*type != "text") {
      return "has a part of type " + type->get<std::string>() + ": this model reads text only";
    }
    if (words == part.end() || !words->is_string()) return "has a text part without text";
    if (!first) text += "\n";
    text += words->get<std::string>();
    first = false;
  }
  *content = text;
  return "";
}

// Templates print arguments as objects; on the wire they are text.
std::string OpenArguments(ordered_json* calls) {
  if (!calls->is_array()) return "is not a list";
  for (ordered_json& call : *calls) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) {
      return "has a call that is no function call";
    }
    ordered_json& function = call["function"];
    if (!function.contains("name") || !function["name"].is_string())
      return "has a call without name";
    const auto arguments = function.find("arguments");
    if (arguments == function.end() || !arguments->is_string()) continue;
    ordered_json object = ordered_json::parse(arguments->get<std::string>(), nullptr, false);
    if (object.is_object()) *arguments = std::move(object);
  }
  return "";
}

void ReadMessage(const std::string& name, ordered_json* message, RequestFields* fields) {
  if (!message->is_object()) return fields->Refuse(name, "is not an object");
  const auto role = message->find("role");
  if (role == message->end() || !role->is_string()) {
    return fields->Refuse(name + ".role", "is not a string");
  }
  if (*role == "developer") *role = "system";
  ordered_json& content = (*message)["content"];
  if (content.is_null()) content = "";
  if (content.is_array()) {
    const std::string problem = JoinParts(&content);
    if (!problem.empty()) return fields->Refuse(name + ".content", problem);
  }
  if (!content.is_string()) {
    return fields->Refuse(name + ".content", "is neither a string nor a list of parts");
  }
  const auto calls = message->find("tool_calls");
  if (calls == message->end()) return;
  if (calls->is_null()) {
    message->erase("tool_calls");
    return;
  }
  const std::string problem = OpenArguments(&*calls);
  if (!problem.empty()) fields->Refuse(name + ".tool_calls", problem);
}

// Whom tool_choice wants called.
enum class Choice { kNobody, kAnybody, kSomebody, kOne };

Choice ReadChoice(RequestFields* fields, bool has_tools, std::string* name) {
  const ordered_json* choice = fields->Find("tool_choice");
  if (choice == nullptr || *choice == "auto") return has_tools ? Choice::kAnybody : Choice::kNobody;
  if (*choice == "none") return Choice::kNobody;
  if (*choice == "required") {
    if (!has_tools) fields->Refuse("tool_choice", "goes with tools");
    return Choice::kSomebody;
  }
  const auto function = choice->is_object() ? choice->find("function") : choice->end();
  if (!choice->is_object() || choice->value("type", ordered_json()) != "function" ||
      function == choice->end() || !function->is_object() ||
      !function->value("name", ordered_json()).is_string()) {
    fields->Refuse("tool_choice",
                   "is none of \"auto\", \"none\", \"required\" and a function by its name",
                   "unsupported_value");
    return Choice::kNobody;
  }
  *name = (*function)["name"].get<std::string>();
  return Choice::kOne;
}

// The tools of a call that has to be made: all, or the one of that name.
void ForceCall(RequestFields* fields, const ordered_json& tools, const std::string& name,
               ApiRequest* request) {
  request->form.kind = OutputForm::Kind::kToolCall;
  for (const ordered_json& tool : tools) {
    const ordered_json& function = tool["function"];
    if (!name.empty() && function["name"] != name) continue;
    ForcedTool forced{.name = function["name"].get<std::string>(), .parameters = ""};
    const bool strict = function.value("strict", ordered_json()) == true;
    if (strict && function.contains("parameters")) {
      forced.parameters = function["parameters"].dump();
    }
    request->form.tools.push_back(std::move(forced));
  }
  if (request->form.tools.empty()) {
    fields->Refuse("tool_choice", "names " + name + ", which is none of the tools");
  }
}

}  // namespace

void ReadMessages(RequestFields* fields, ApiRequest* request) {
  const ordered_json* messages = fields->Find("messages");
  if (messages == nullptr || !messages->is_array() || messages->empty()) {
    return fields->Refuse("messages", "is not a list of messages");
  }
  ordered_json copy = *messages;
  for (size_t i = 0; i < copy.size(); ++i) {
    ReadMessage("messages[" + std::to_string(i) + "]", &copy[i], fields);
  }
  if (!fields->error().has_value()) request->messages_json = copy.dump();
}

void ReadTools(RequestFields* fields, ApiRequest* request) {
  const ordered_json* tools = fields->Find("tools");
  if (tools != nullptr && !tools->is_array()) return fields->Refuse("tools", "is not a list");
  const bool has_tools = tools != nullptr && !tools->empty();
  request->parallel_tool_calls = fields->Bool("parallel_tool_calls").value_or(true);
  std::string chosen;
  const Choice choice = ReadChoice(fields, has_tools, &chosen);
  if (choice == Choice::kNobody || !has_tools) {
    if (choice == Choice::kOne) fields->Refuse("tool_choice", "goes with tools");
    return;
  }
  for (size_t i = 0; i < tools->size(); ++i) {
    const ordered_json& tool = (*tools)[i];
    const std::string name = "tools[" + std::to_string(i) + "]";
    if (!tool.is_object() || tool.value("type", ordered_json()) != "function") {
      return fields->Refuse(name, "is not of type function");
    }
    const auto function = tool.find("function");
    if (function == tool.end() || !function->is_object() ||
        !function->value("name", ordered_json()).is_string()) {
      return fields->Refuse(name + ".function.name", "is not a string");
    }
    request->tool_names.push_back((*function)["name"].get<std::string>());
  }
  request->tools_json = tools->dump();
  if (choice == Choice::kSomebody || choice == Choice::kOne) {
    ForceCall(fields, *tools, chosen, request);
  }
}

}  // namespace reenact::engine_server
