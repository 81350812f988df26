// Puts tool calls together from the fragments of a stream.
//
// Official clients key fragments by `index`. Servers in the field send one index for parallel
// calls, or none. Fragments are joined where what was sent leaves one reading; where it leaves
// several, the fragment is reported and left to the raw bytes, never guessed.

#ifndef REENACT_SCHEMA_INTERNAL_TOOL_CALL_MERGER_H_
#define REENACT_SCHEMA_INTERNAL_TOOL_CALL_MERGER_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schema/internal/anomaly_list.h"
#include "schema/json_view.h"
#include "schema/model_view.h"

namespace reenact::schema::internal {

// More calls than this in one streamed answer are not kept in the view ("too_many_tool_calls").
// Official clients refuse an index of 128 and more.
inline constexpr size_t kMaxToolCalls = 128;

// Reads a whole tool call, or one fragment of it. The arguments are what was sent: where a server
// sent an object instead of text, its JSON ("arguments_not_string").
ToolCall ReadToolCall(JsonValue value, AnomalyList* anomalies);

class ToolCallMerger {
 public:
  // `fragments`: a delta's "tool_calls".
  void Add(JsonValue fragments, AnomalyList* anomalies);
  // `fragment`: a delta's "function_call", the form before tools. It has one call and no id.
  void AddFunctionCall(JsonValue fragment, AnomalyList* anomalies);

  bool empty() const { return slots_.empty(); }

  // In the order in which the calls began.
  std::vector<ToolCall> Take();

 private:
  // Tells whether the arguments so far are one whole JSON object, to which nothing can be added.
  class ArgumentsScanner {
   public:
    void Feed(std::string_view text);

    bool whole() const { return begun_ && depth_ == 0; }

   private:
    bool begun_ = false;
    bool in_string_ = false;
    bool escaped_ = false;
    int64_t depth_ = 0;
  };

  struct Slot {
    ToolCall call;
    ArgumentsScanner scanner;
  };

  void AddFragment(ToolCall fragment, AnomalyList* anomalies);
  void AddIndexed(ToolCall fragment, AnomalyList* anomalies);
  void AddUnindexed(ToolCall fragment, AnomalyList* anomalies);
  // True when `fragment`, sent with the index of `slot` and without its id, belongs to it: the id
  // arrives late, or a server draws a new one for every fragment.
  static bool Continues(const Slot& slot, const ToolCall& fragment);
  // To the only one of `candidates` that can take more; else reports the fragment as ambiguous.
  void Continue(const std::vector<Slot*>& candidates, const ToolCall& fragment,
                AnomalyList* anomalies);
  void Begin(ToolCall call, AnomalyList* anomalies);
  static void Extend(Slot* slot, const ToolCall& fragment);

  std::vector<Slot> slots_;
  std::optional<size_t> function_call_slot_;
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_TOOL_CALL_MERGER_H_
