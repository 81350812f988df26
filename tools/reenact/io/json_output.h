// JSON that other programs read: keys in the order written, two spaces of indentation, nothing
// rounded. Whatever bytes go in, the output is valid JSON and safe to show on a terminal.

#ifndef REENACT_TOOLS_REENACT_IO_JSON_OUTPUT_H_
#define REENACT_TOOLS_REENACT_IO_JSON_OUTPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reenact::tools {

// Raised when a field changes its meaning or goes away; new fields do not raise it.
inline constexpr int kJsonSchemaVersion = 1;

// Writes one document. Begin/End and Key must pair up as JSON wants; nothing checks it but tests.
class JsonWriter {
 public:
  // {"schema_version": 1, "verb": "list", ...: the caller adds fields and calls EndObject.
  static JsonWriter Document(std::string_view verb);

  void BeginObject();
  void EndObject();
  void BeginArray();
  void EndArray();
  void Key(std::string_view name);

  // Text that is UTF-8 is a string; other bytes are {"base64": "..."}.
  void Text(std::string_view bytes);
  // Numbers past 2^53 in size are strings of digits, so that no reader rounds them.
  void Int(int64_t number);
  void Uint(uint64_t number);
  // Shortest digits that give the same double; NaN and infinities are strings.
  void Real(double number);
  void Bool(bool value);
  void Null();

  void TextField(std::string_view name, std::string_view bytes);
  void IntField(std::string_view name, int64_t number);
  void UintField(std::string_view name, uint64_t number);
  void RealField(std::string_view name, double number);
  void BoolField(std::string_view name, bool value);
  void NullField(std::string_view name);
  // null where there is no number.
  void OptionalIntField(std::string_view name, const std::optional<int64_t>& number);
  void OptionalRealField(std::string_view name, const std::optional<double>& number);
  // null where the text is empty: what was not given.
  void GivenTextField(std::string_view name, std::string_view bytes);
  void TextsField(std::string_view name, const std::vector<std::string>& texts);
  // Tags and headers may repeat a name: a list of {"name", "value"}, not an object.
  void PairsField(std::string_view name,
                  const std::vector<std::pair<std::string, std::string>>& pairs);
  // Two fields: `name` in RFC 3339, and `name_unix_ns` as a string of digits.
  void TimeField(std::string_view name, int64_t wall_ns);
  // Always a string of digits: seeds, and times in ns.
  void DigitsField(std::string_view name, uint64_t number);

  // The document with a final line feed.
  std::string Take();

 private:
  void BeforeValue();
  void Open(char bracket);
  void Close(char bracket);
  void NewLine();
  void Quote(std::string_view text);

  std::string out_;
  int depth_ = 0;
  bool first_ = true;  // Nothing yet at this level.
  bool after_key_ = false;
};

std::string Base64(std::string_view bytes);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_JSON_OUTPUT_H_
