#include "schema/internal/volatile_members.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace reenact::schema::internal {
namespace {

// Paths of members: names with dots between them, "[]" for every element of a list.
using Paths = std::span<const std::string_view>;

// Who asked, how it is billed, kept and cached, how a stream is decorated; and what vLLM and SGLang
// call a request.
constexpr auto kOpenAi = std::to_array<std::string_view>(
    {"user", "metadata", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
     "safety_identifier", "store", "stream_options", "request_id", "rid", "cache_salt",
     "session_id", "priority"});
constexpr auto kAnthropic =
    std::to_array<std::string_view>({"metadata", "container", "diagnostics"});
constexpr auto kGemini = std::to_array<std::string_view>({"labels"});
constexpr auto kOllama = std::to_array<std::string_view>({"keep_alive"});
constexpr auto kMcp = std::to_array<std::string_view>({"id", "params._meta"});

constexpr auto kChatIds =
    std::to_array<std::string_view>({"messages[].tool_calls[].id", "messages[].tool_call_id"});
// What the provider keeps is named by ids as well: that there is a history counts, its name does
// not.
constexpr auto kResponsesIds = std::to_array<std::string_view>(
    {"input[].id", "input[].call_id", "previous_response_id", "input[].approval_request_id",
     "conversation", "conversation.id"});
constexpr auto kAnthropicIds = std::to_array<std::string_view>(
    {"messages[].content[].id", "messages[].content[].tool_use_id"});
constexpr auto kGeminiIds = std::to_array<std::string_view>(
    {"contents[].parts[].functionCall.id", "contents[].parts[].functionResponse.id",
     "contents[].parts[].function_call.id", "contents[].parts[].function_response.id"});

struct DialectPaths {
  Paths without_meaning;
  Paths ids;
};

DialectPaths PathsOf(ModelDialect dialect) {
  switch (dialect) {
    case ModelDialect::kUnknown:
      break;
    case ModelDialect::kOpenAiChat:
      return {kOpenAi, kChatIds};
    case ModelDialect::kOpenAiCompletions:
    case ModelDialect::kOpenAiEmbeddings:
      return {kOpenAi, {}};
    case ModelDialect::kOpenAiResponses:
      return {kOpenAi, kResponsesIds};
    case ModelDialect::kAnthropicMessages:
      return {kAnthropic, kAnthropicIds};
    case ModelDialect::kGemini:
      return {kGemini, kGeminiIds};
    case ModelDialect::kOllama:
      return {kOllama, kChatIds};
  }
  return {};
}

// Calls `visit` for each value at `path` below `value`, in document order. Of members written twice
// all are visited: which one counts is decided later.
template <typename Visit>
void VisitPath(JsonValue value, std::string_view path, const Visit& visit) {
  if (path.empty()) return visit(value);
  if (path.starts_with("[]")) {
    path.remove_prefix(path.starts_with("[].") ? 3 : 2);
    if (!value.is_array()) return;
    for (size_t i = 0; i < value.size(); ++i) VisitPath(value[i], path, visit);
    return;
  }
  if (!value.is_object()) return;
  const size_t end = std::min(path.find_first_of(".["), path.size());
  const std::string_view name = path.substr(0, end);
  path.remove_prefix(path.substr(end).starts_with('.') ? end + 1 : end);
  for (size_t i = 0; i < value.size(); ++i) {
    if (value.KeyAt(i) == name) VisitPath(value[i], path, visit);
  }
}

void LeaveOut(Paths paths, JsonValue body, Edits* edits) {
  for (const std::string_view path : paths) {
    VisitPath(body, path, [&](JsonValue value) { (*edits)[value.begin_offset()] = std::nullopt; });
  }
}

void NumberIds(Paths paths, JsonValue body, Edits* edits) {
  std::map<std::string, size_t> places;
  for (const std::string_view path : paths) {
    VisitPath(body, path, [&](JsonValue id) {
      if (!id.is_string()) return;
      const auto [place, added] = places.emplace(id.AsString(), places.size());
      (*edits)[id.begin_offset()] = "\"tool call " + std::to_string(place->second) + "\"";
    });
  }
}

}  // namespace

Edits VolatileEdits(ModelDialect dialect, JsonValue request) {
  const DialectPaths paths = PathsOf(dialect);
  Edits edits;
  LeaveOut(paths.without_meaning, request, &edits);
  NumberIds(paths.ids, request, &edits);
  return edits;
}

Edits McpEdits(JsonValue message) {
  Edits edits;
  LeaveOut(kMcp, message, &edits);
  return edits;
}

}  // namespace reenact::schema::internal
