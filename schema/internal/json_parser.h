// Turns text into the nodes of a JsonDocument.

#ifndef REENACT_SCHEMA_INTERNAL_JSON_PARSER_H_
#define REENACT_SCHEMA_INTERNAL_JSON_PARSER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/json_view.h"

namespace reenact::schema {

// One parse of `document`'s text. A loop over a list of open containers, not a recursion: the
// depth of a stranger's text is not the depth of our stack.
class JsonParser {
 public:
  explicit JsonParser(JsonDocument* document) : document_(document), text_(document->text_) {}

  // False when the text is not JSON; error() then says what and where.
  bool Run();

  const std::string& error() const { return error_; }

 private:
  struct OpenContainer {
    uint32_t node = 0;
    uint32_t first_child = 0;  // Into pending_.
  };

  bool Fail(std::string_view what);
  void Note(std::string_view anomaly);
  void SkipSpace();
  bool TakeIf(char c);

  // The next element, member or end of the innermost container.
  bool Step();
  bool ReadKey();
  bool ReadValue();
  bool ReadString();
  bool CheckEscape(std::string_view rest);
  bool ReadLiteral();
  bool ReadNumber();
  bool Open(JsonType type);
  void Close();
  void NoteDuplicateKeys(uint32_t first_child);
  void AddNode(JsonType type, size_t begin, size_t end);

  JsonDocument* document_;
  std::string_view text_;
  size_t at_ = 0;
  std::vector<OpenContainer> open_;
  std::vector<uint32_t> pending_;  // Children so far of all open containers.
  std::string error_;
};

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_INTERNAL_JSON_PARSER_H_
