#include "chat_stream.h"

#include <nlohmann/json.hpp>

namespace demo {
namespace {

using nlohmann::ordered_json;

std::string StringIn(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

void ChatStream::Append(std::string_view bytes) {
  pending_.append(bytes);
  size_t end;
  while ((end = pending_.find('\n')) != std::string::npos) {
    const std::string_view line = std::string_view(pending_).substr(0, end);
    constexpr std::string_view kData = "data: ";
    if (line.substr(0, kData.size()) == kData) Record(line.substr(kData.size()));
    pending_.erase(0, end + 1);
  }
}

void ChatStream::Record(std::string_view data) {
  if (data == "[DONE]") {
    ended_ = true;
    return;
  }
  const ordered_json chunk = ordered_json::parse(data, nullptr, false);
  if (!chunk.is_object() || !chunk.contains("choices")) return;
  for (const ordered_json& choice : chunk["choices"]) {
    const ordered_json delta = choice.value("delta", ordered_json::object());
    content_ += StringIn(delta, "content");
    for (const ordered_json& call : delta.value("tool_calls", ordered_json::array())) {
      RequestedTool& tool = tools_[call.value("index", 0)];
      if (tool.id.empty()) tool.id = StringIn(call, "id");
      const ordered_json function = call.value("function", ordered_json::object());
      if (tool.name.empty()) tool.name = StringIn(function, "name");
      tool.arguments += StringIn(function, "arguments");
    }
  }
}

}  // namespace demo
