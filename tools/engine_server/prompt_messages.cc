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

// Whether the model may call a tool. What would force it to is refused: nothing here constrains
// what a model writes.
bool MayCallTools(RequestFields* fields, bool has_tools) {
  const ordered_json* choice = fields->Find("tool_choice");
  if (choice == nullptr || *choice == "auto") return has_tools;
  if (*choice == "none") return false;
  fields->Refuse("tool_choice",
                 "is supported as \"auto\" and \"none\": this server does not constrain what the "
                 "model writes",
                 "unsupported_value");
  return false;
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
  if (!MayCallTools(fields, has_tools)) return;
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
}

}  // namespace reenact::engine_server
