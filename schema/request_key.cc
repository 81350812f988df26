#include "schema/request_key.h"

#include <array>
#include <memory>

#include "schema/internal/canonical_reading.h"
#include "schema/model_view.h"

namespace reenact::schema {
namespace {

// Members of a chat request that change nothing in the answer, or must not: who asked, how it is
// billed and kept, how the stream is decorated.
constexpr std::array<std::string_view, 6> kVolatileChatMembers = {
    "user", "metadata", "prompt_cache_key", "safety_identifier", "store", "stream_options"};

// A model makes up the ids of its tool calls, so a rerun has others; what counts is which answer
// belongs to which call. Each id is read as its place in the order of first appearance.
class ToolCallIds {
 public:
  void Read(const JsonValue& id, internal::Edits* edits) {
    if (!id.is_string()) return;
    const auto [place, added] = places_.emplace(id.AsString(), places_.size());
    (*edits)[id.begin_offset()] = "\"tool call " + std::to_string(place->second) + "\"";
  }

 private:
  std::map<std::string, size_t> places_;
};

internal::Edits ChatEdits(JsonValue request) {
  internal::Edits edits;
  for (size_t i = 0; i < request.size(); ++i) {
    const std::string key = request.KeyAt(i);
    for (const std::string_view member : kVolatileChatMembers) {
      if (key == member) edits[request[i].begin_offset()] = std::nullopt;
    }
  }
  ToolCallIds ids;
  const JsonValue messages = request["messages"];
  for (size_t i = 0; i < messages.size(); ++i) {
    const JsonValue calls = messages[i]["tool_calls"];
    for (size_t k = 0; k < calls.size(); ++k) ids.Read(calls[k]["id"], &edits);
    ids.Read(messages[i]["tool_call_id"], &edits);
  }
  return edits;
}

// A request body as the key sees it: parsed with its edits, or bytes.
struct RequestReading {
  std::unique_ptr<JsonDocument> document;  // Null: only the bytes count.
  internal::Edits edits;

  internal::JsonReading Root() const { return {document->root(), &edits}; }
};

RequestReading ReadRequest(Boundary boundary, std::string_view provider, std::string_view body) {
  RequestReading reading;
  reading.document = JsonDocument::Parse(body);
  // A bare number is text that happens to be digits: the query "1.0" is not the query "1".
  if (reading.document != nullptr && reading.document->root().is_number()) {
    reading.document = nullptr;
  }
  if (reading.document != nullptr && boundary == Boundary::kModel &&
      DialectOf(provider, "", body) == ModelDialect::kOpenAiChat) {
    reading.edits = ChatEdits(reading.document->root());
  }
  return reading;
}

}  // namespace

RequestKey KeyOf(Boundary boundary, std::string_view provider, std::string_view body) {
  const RequestReading reading = ReadRequest(boundary, provider, body);
  if (reading.document == nullptr) return {KeyBasis::kRawBytes, HashBytes(body)};
  return {KeyBasis::kCanonicalJson, HashBytes(internal::CanonicalJson(reading.Root()))};
}

std::string Shorten(const RequestKey& key) {
  constexpr size_t kShownDigits = 12;
  return "sha256:" + ToHex(key.digest).substr(0, kShownDigits);
}

std::vector<JsonDifference> DiffRequests(Boundary boundary, std::string_view provider,
                                         std::string_view expected, std::string_view actual,
                                         size_t limit) {
  const RequestReading ours = ReadRequest(boundary, provider, expected);
  const RequestReading theirs = ReadRequest(boundary, provider, actual);
  if (ours.document != nullptr && theirs.document != nullptr) {
    return internal::DiffJson(ours.Root(), theirs.Root(), limit);
  }
  if (expected == actual || limit == 0) return {};
  JsonDifference difference;
  difference.path = "(bytes)";
  internal::ShowDifference(expected, actual, &difference);
  return {difference};
}

}  // namespace reenact::schema
