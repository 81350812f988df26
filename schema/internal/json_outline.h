// The outline of one JSON value, as far as it can be followed: for texts that may be cut off,
// damaged or no JSON at all, where JsonDocument would say nothing. Reused from record to record.

#ifndef REENACT_SCHEMA_INTERNAL_JSON_OUTLINE_H_
#define REENACT_SCHEMA_INTERNAL_JSON_OUTLINE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "schema/internal/mapped_text.h"
#include "schema/json_view.h"

namespace reenact::schema::internal {

inline constexpr uint32_t kNoNode = UINT32_MAX;

struct OutlineNode {
  JsonType type = JsonType::kNull;
  uint32_t parent = kNoNode;
  uint32_t place = 0;  // Among the parent's children.
  // Of a string, what is between the quotes; of others, the whole.
  TextSpan span;
  TextSpan key;  // What is between the quotes of the member's key; empty elsewhere.
};

class JsonOutline {
 public:
  // Reads the value that begins at `begin`. Returns where reading stopped: past the value, or at
  // the first byte that does not fit. `is_line`: the value stands in a line of its own, so that a
  // string which is not closed ends with the line and does not take the next record with it.
  size_t Read(std::string_view text, size_t begin, bool is_line = false);

  // In document order, parents first. Valid until the next Read.
  const std::vector<OutlineNode>& nodes() const { return nodes_; }

  // False when the value was not followed to its end; open containers and a string without its
  // closing quote then end where reading stopped.
  bool is_complete() const { return is_complete_; }

 private:
  bool Step();
  bool ReadValue(TextSpan key);
  bool ReadString(TextSpan* inner);
  bool ReadWord(TextSpan key);
  void SkipSpace();
  void Add(JsonType type, TextSpan span, TextSpan key);

  std::string_view text_;
  size_t at_ = 0;
  bool is_line_ = false;
  bool is_complete_ = false;
  std::vector<OutlineNode> nodes_;

  struct Open {
    uint32_t node = 0;
    uint32_t child_count = 0;
  };

  std::vector<Open> open_;
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_JSON_OUTLINE_H_
