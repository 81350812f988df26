#include "replayer/rerun/conversation.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"

#include "replayer/rerun/action.h"
#include "replayer/rerun/question.h"
#include "schema/json_view.h"
#include "schema/request_edit.h"

namespace reenact::rerun {
namespace {

using schema::JsonDocument;
using schema::JsonValue;
using schema::ModelDialect;
using schema::QuotedJson;
using schema::RequestMessage;
using schema::ToolCall;

// The member that holds the messages.
std::string_view MessagesKey(ModelDialect dialect) {
  return dialect == ModelDialect::kOpenAiResponses ? "input" : "messages";
}

ToolMessage Told(JsonValue id, JsonValue content, JsonValue is_error = {}) {
  const std::string text = content.is_present() ? std::string(content.raw()) : "\"\"";
  return {.call_id = id.AsString(), .content = text, .is_error = is_error.AsBool()};
}

void ReadToolMessages(ModelDialect dialect, JsonValue message, std::vector<ToolMessage>* out) {
  switch (dialect) {
    case ModelDialect::kOpenAiChat:
      if (message["role"].AsString() == "tool") {
        out->push_back(Told(message["tool_call_id"], message["content"]));
      }
      return;
    case ModelDialect::kOpenAiResponses:
      if (message["type"].AsString().ends_with("_output")) {
        out->push_back(Told(message["call_id"], message["output"]));
      }
      return;
    case ModelDialect::kAnthropicMessages:
      for (size_t i = 0; message["content"].is_array() && i < message["content"].size(); ++i) {
        const JsonValue part = message["content"][i];
        if (part["type"].AsString() != "tool_result") continue;
        out->push_back(Told(part["tool_use_id"], part["content"], part["is_error"]));
      }
      return;
    default:
      return;
  }
}

size_t MessageCount(ModelDialect dialect, std::string_view request) {
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(request);
  if (document == nullptr) return 0;
  const JsonValue messages = document->root()[MessagesKey(dialect)];
  return messages.is_array() ? messages.size() : 1;
}

bool SameMessage(const RequestMessage& a, const RequestMessage& b) {
  return a.role == b.role && a.text == b.text &&
         std::equal(a.tool_calls.begin(), a.tool_calls.end(), b.tool_calls.begin(),
                    b.tool_calls.end(), [](const ToolCall& x, const ToolCall& y) {
                      return x.name == y.name &&
                             CanonicalArguments(x.arguments) == CanonicalArguments(y.arguments);
                    });
}

// Arguments that go where a JSON value has to stand.
std::string AsValue(const std::string& arguments) {
  const bool is_object = JsonDocument::Parse(arguments) != nullptr;
  return is_object ? arguments : "{}";
}

std::string ChatMessages(const schema::Choice& answer, const std::vector<ToolMessage>& tools) {
  std::string out = "{\"role\":\"assistant\",\"content\":";
  out += answer.content ? QuotedJson(*answer.content) : "null";
  if (!answer.refusal.empty()) absl::StrAppend(&out, ",\"refusal\":", QuotedJson(answer.refusal));
  std::string calls;
  for (const ToolCall& call : answer.tool_calls) {
    const bool custom = call.type == "custom";
    absl::StrAppend(
        &calls, calls.empty() ? "" : ",", "{\"id\":", QuotedJson(call.id),
        custom ? ",\"type\":\"custom\",\"custom\":" : ",\"type\":\"function\",\"function\":",
        "{\"name\":", QuotedJson(call.name),
        custom ? ",\"input\":" : ",\"arguments\":", QuotedJson(call.arguments), "}}");
  }
  if (!calls.empty()) absl::StrAppend(&out, ",\"tool_calls\":[", calls, "]");
  out += "}";
  for (const ToolMessage& tool : tools) {
    absl::StrAppend(&out, ",{\"role\":\"tool\",\"tool_call_id\":", QuotedJson(tool.call_id),
                    ",\"content\":", tool.content, "}");
  }
  return out;
}

std::string ResponsesItems(const schema::Choice& answer, const std::vector<ToolMessage>& tools) {
  std::string out;
  const auto add = [&](const std::string& item) { out += (out.empty() ? "" : ",") + item; };
  if (answer.content.value_or("") != "") {
    add("{\"role\":\"assistant\",\"content\":" + QuotedJson(*answer.content) + "}");
  }
  for (const ToolCall& call : answer.tool_calls) {
    const bool custom = call.type.starts_with("custom");
    add(absl::StrCat("{\"type\":\"", custom ? "custom_tool_call" : "function_call",
                     "\",\"call_id\":", QuotedJson(call.id), ",\"name\":", QuotedJson(call.name),
                     custom ? ",\"input\":" : ",\"arguments\":", QuotedJson(call.arguments), "}"));
  }
  for (size_t i = 0; i < tools.size(); ++i) {
    const bool custom =
        i < answer.tool_calls.size() && answer.tool_calls[i].type.starts_with("custom");
    add(absl::StrCat("{\"type\":\"", custom ? "custom_tool_call_output" : "function_call_output",
                     "\",\"call_id\":", QuotedJson(tools[i].call_id),
                     ",\"output\":", tools[i].content, "}"));
  }
  return out;
}

std::string AnthropicMessages(const schema::Choice& answer, const std::vector<ToolMessage>& tools) {
  std::string parts;
  const auto add = [&](const std::string& part) { parts += (parts.empty() ? "" : ",") + part; };
  if (!answer.reasoning.empty() && answer.sealed_reasoning.size() == 1) {
    add("{\"type\":\"thinking\",\"thinking\":" + QuotedJson(answer.reasoning) +
        ",\"signature\":" + QuotedJson(answer.sealed_reasoning.front()) + "}");
  }
  if (answer.content.value_or("") != "") {
    add("{\"type\":\"text\",\"text\":" + QuotedJson(*answer.content) + "}");
  }
  for (const ToolCall& call : answer.tool_calls) {
    add(absl::StrCat("{\"type\":\"tool_use\",\"id\":", QuotedJson(call.id), ",\"name\":",
                     QuotedJson(call.name), ",\"input\":", AsValue(call.arguments), "}"));
  }
  std::string out = "{\"role\":\"assistant\",\"content\":[" + parts + "]}";
  parts.clear();
  for (const ToolMessage& tool : tools) {
    add(absl::StrCat("{\"type\":\"tool_result\",\"tool_use_id\":", QuotedJson(tool.call_id),
                     ",\"content\":", tool.content, tool.is_error ? ",\"is_error\":true}" : "}"));
  }
  if (!parts.empty()) absl::StrAppend(&out, ",{\"role\":\"user\",\"content\":[", parts, "]}");
  return out;
}

// Why `request` does not hold all that the model is to know; empty: it does.
std::string WhyNotWhole(ModelDialect dialect, JsonValue request, const schema::Choice& answer) {
  switch (dialect) {
    case ModelDialect::kOpenAiChat:
      return "";
    case ModelDialect::kOpenAiResponses:
      for (const std::string_view kept : {"previous_response_id", "conversation"}) {
        const JsonValue value = request[kept];
        if (value.is_present() && !value.is_null()) {
          return "the provider keeps part of the conversation (" + std::string(kept) + ")";
        }
      }
      return "";
    case ModelDialect::kAnthropicMessages:
      if (answer.sealed_reasoning.size() < 2) return "";
      return "the answer's reasoning comes sealed in " +
             std::to_string(answer.sealed_reasoning.size()) + " parts, which do not go back in one";
    default:
      return "the dialect " + std::string(ToString(dialect)) + " has no tools to answer";
  }
}

}  // namespace

std::vector<ToolMessage> NewToolMessages(ModelDialect dialect, std::string_view request,
                                         std::string_view next) {
  std::vector<ToolMessage> out;
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(next);
  if (document == nullptr) return out;
  const JsonValue messages = document->root()[MessagesKey(dialect)];
  const size_t known = MessageCount(dialect, request);
  for (size_t i = known; messages.is_array() && i < messages.size(); ++i) {
    ReadToolMessages(dialect, messages[i], &out);
  }
  return out;
}

bool Continues(const schema::ModelView& call, const schema::ModelView& next) {
  const std::vector<RequestMessage>& before = call.messages;
  const std::vector<RequestMessage>& after = next.messages;
  if (before.empty() || after.size() <= before.size() || call.choices.empty()) return false;
  if (!std::equal(before.begin(), before.end(), after.begin(), SameMessage)) return false;
  const auto said = std::find_if(after.begin() + static_cast<std::ptrdiff_t>(before.size()),
                                 after.end(), [](const RequestMessage& message) {
                                   return message.role == "assistant" || message.role == "user" ||
                                          message.role == "tool";
                                 });
  if (said == after.end() || said->role != "assistant") return false;
  const std::vector<ToolCall>& asked = call.choices.front().tool_calls;
  if (asked.empty()) return true;
  return std::any_of(said, after.end(), [&](const RequestMessage& message) {
    return !message.tool_calls.empty() && message.tool_calls.front().name == asked.front().name;
  });
}

absl::StatusOr<std::string> RequestAfter(ModelDialect dialect, std::string_view request,
                                         const schema::Choice& answer,
                                         const std::vector<ToolMessage>& tools) {
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(request);
  if (document == nullptr) return absl::InvalidArgumentError("the request is no JSON");
  if (const std::string why = WhyNotWhole(dialect, document->root(), answer); !why.empty()) {
    return absl::UnimplementedError(why);
  }
  const JsonValue messages = document->root()[MessagesKey(dialect)];
  std::string list(messages.raw());
  if (messages.is_string()) list = "[{\"role\":\"user\",\"content\":" + list + "}]";
  if (list.empty() || list.back() != ']') {
    return absl::InvalidArgumentError("the request has no messages");
  }
  list.pop_back();
  if (dialect == ModelDialect::kOpenAiChat) {
    list += "," + ChatMessages(answer, tools);
  } else if (dialect == ModelDialect::kAnthropicMessages) {
    list += "," + AnthropicMessages(answer, tools);
  } else {
    list += "," + ResponsesItems(answer, tools);
  }
  return *WithMember(request, MessagesKey(dialect), list + "]");
}

}  // namespace reenact::rerun
