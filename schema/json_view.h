// A view of JSON text that keeps what was written: digits of numbers, order and duplicates of
// keys, escapes. It reads what the clients in the field read, and says where that was lenient.
//
// Not a document to edit or to write back: raw bytes are the record, this is how we look at them.
// Why not a JSON library: those at hand refuse lone surrogates and NaN, round large integers, and
// may not enter a host's process; see docs/decisions/.

#ifndef REENACT_SCHEMA_JSON_VIEW_H_
#define REENACT_SCHEMA_JSON_VIEW_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reenact::schema {

enum class JsonType : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

class JsonDocument;

// A value inside a JsonDocument, which must outlive it. A default-made one, and every look-up that
// finds nothing, is "absent": type() is kNull, is_present() is false, and look-ups in it are
// absent.
class JsonValue {
 public:
  JsonValue() = default;

  bool is_present() const { return document_ != nullptr; }

  bool is_null() const { return is_present() && type() == JsonType::kNull; }

  bool is_string() const { return is_present() && type() == JsonType::kString; }

  bool is_number() const { return is_present() && type() == JsonType::kNumber; }

  bool is_bool() const { return is_present() && type() == JsonType::kBool; }

  bool is_array() const { return is_present() && type() == JsonType::kArray; }

  bool is_object() const { return is_present() && type() == JsonType::kObject; }

  JsonType type() const;

  // The bytes of the document that this value was written as, without surrounding space.
  std::string_view raw() const;
  // Their position in the document.
  size_t begin_offset() const;
  size_t end_offset() const;

  // A string's text with escapes resolved, as UTF-8. A lone surrogate becomes its three-byte form
  // (ED A0 80 .. ED BF BF): not valid UTF-8, but different from every other text. Bytes that were
  // not UTF-8 in the document are kept. Empty for other types.
  std::string AsString() const;
  // True for the literal true.
  bool AsBool() const;
  // Nothing when the number is written with a fraction or exponent that is not integral, or does
  // not fit.
  std::optional<int64_t> AsInt64() const;
  std::optional<uint64_t> AsUint64() const;
  // Nothing for other types. NaN, Infinity and -Infinity are read; 1e400 is infinity.
  std::optional<double> AsDouble() const;

  // Arrays: elements. Objects: members. 0 for other types.
  size_t size() const;
  // Element, or value of a member, in written order. Constant time.
  JsonValue operator[](size_t index) const;
  // The value of the last member with this key (what every JSON client does with duplicates).
  // Cost: linear in the members.
  JsonValue operator[](std::string_view key) const;
  std::string KeyAt(size_t index) const;  // Objects only; escapes resolved.
  // The key as written, quotes included; its bytes are those of the document.
  std::string_view RawKeyAt(size_t index) const;

 private:
  friend class JsonDocument;

  JsonValue(const JsonDocument* document, uint32_t node) : document_(document), node_(node) {}

  uint32_t KeyNodeAt(size_t index) const;
  const JsonDocument* document_ = nullptr;
  uint32_t node_ = 0;
};

// Parsed text. Owns no copy of it: `text` must outlive the document.
// Cost: one pass, about 24 bytes a value. Never recurses; depth is limited to kMaxJsonDepth.
class JsonDocument {
 public:
  // Nothing when `text` is not one JSON value (after one optional byte-order mark), or is nested
  // deeper than kMaxJsonDepth. `*error`, where given, says what and at which offset.
  static std::unique_ptr<JsonDocument> Parse(std::string_view text, std::string* error = nullptr);

  JsonValue root() const { return JsonValue(this, 0); }

  // What strict JSON would have refused or changed: "bom", "lone_surrogate", "nan", "infinity",
  // "number_overflow", "duplicate_key", "invalid_utf8", "control_character". Each once, in the
  // order met.
  const std::vector<std::string>& anomalies() const { return anomalies_; }

 private:
  friend class JsonValue;
  friend class JsonParser;

  struct Node {
    uint32_t begin = 0;     // Offset of the first byte.
    uint32_t end = 0;       // Offset past the last byte.
    uint32_t children = 0;  // Containers: where their list starts in children_.
    uint32_t size = 0;      // Elements or members.
    JsonType type = JsonType::kNull;
  };

  std::string_view text_;
  std::vector<Node> nodes_;         // In document order; the value of a member follows its key.
  std::vector<uint32_t> children_;  // Of each container in turn: its elements, or its keys.
  std::vector<std::string> anomalies_;
};

inline constexpr size_t kMaxJsonDepth = 512;
// Texts of 4 GiB and more are refused.

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_JSON_VIEW_H_
