// The items that an answer of the Responses API is made of, whole or growing in a stream.

#ifndef REENACT_SCHEMA_INTERNAL_RESPONSE_ITEMS_H_
#define REENACT_SCHEMA_INTERNAL_RESPONSE_ITEMS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "schema/internal/logprob_reader.h"
#include "schema/json_view.h"
#include "schema/model_view.h"

namespace reenact::schema::internal {

// Where a text of an item belongs.
enum class ItemText : uint8_t { kContent, kRefusal, kReasoning, kSummary, kArguments };

struct ItemPiece {
  explicit ItemPiece(bool logprobs_asked) : logprobs(logprobs_asked) {}

  std::string text;
  LogprobMerger logprobs;
};

struct ResponseItem {
  std::string type;
  ToolCall call;       // Of calls: those of the program's tools and of the provider's own.
  std::string sealed;  // Reasoning or history that came encrypted.
  // By kind and index within it, but for the arguments of a call.
  std::map<std::pair<ItemText, int64_t>, ItemPiece> pieces;
};

ResponseItem ReadItem(JsonValue item, bool logprobs_asked);
// A part of a message: {"type":"output_text",..} or {"type":"refusal",..}.
void SetPart(JsonValue part, int64_t index, bool logprobs_asked, ResponseItem* item);

// Adds what an item holds to the one choice that an answer is.
void AppendItem(ResponseItem item, Choice* choice);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_RESPONSE_ITEMS_H_
