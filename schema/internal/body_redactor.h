// Takes a body apart into texts and finds the secrets in them: strings of JSON with their escapes
// resolved, JSON inside of strings, the pieces of a stream joined.
//
//   body ─┬─ event stream ── data of each event ─┐            ┌─ its key is a credential's name
//         ├─ JSON, or several values ────────────┼─ string ───┼─ decoded text: JSON again, or
//         └─ other text ── scanned as it is      │            └─ scanned by SecretScanner
//                                                └─ pieces with one path in consecutive records,
//                                                   and the tokens of logprobs: joined, scanned
//
// What is found in a derived text is carried back, level by level, to the bytes of the body. A
// secret that came in pieces is replaced in the first and removed from the others.

#ifndef REENACT_SCHEMA_INTERNAL_BODY_REDACTOR_H_
#define REENACT_SCHEMA_INTERNAL_BODY_REDACTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/internal/json_outline.h"
#include "schema/internal/mapped_text.h"
#include "schema/internal/secret_scanner.h"

namespace reenact::schema::internal {

// What takes the place of a span. In this order one outweighs another that it overlaps.
enum class Fill : uint8_t {
  kNothing,     // A further piece of a secret.
  kMark,        // The secret.
  kEmptyArray,  // Alternatives to a token of a secret.
  kNull,        // A number, or the bytes of such a token.
};

std::string_view ToText(Fill fill);

struct Edit {
  TextSpan span;
  Fill fill = Fill::kMark;
};

// One search of one body.
class BodyRedactor {
 public:
  BodyRedactor(const SecretScanner& scanner, std::string_view body)
      : scanner_(scanner), body_(body) {}

  // True only when Find would find nothing; costs one look at each byte.
  static bool IsPlainlyClean(const SecretScanner& scanner, std::string_view body);

  // In order, not overlapping. Empty when nothing was found.
  std::vector<Edit> Find();

 private:
  // A text and the way back to the body.
  struct View {
    std::string_view text;
    const View* parent = nullptr;     // Null: this is the body.
    const MappedText* map = nullptr;  // Null: the text is the parent's from `offset` on.
    size_t offset = 0;
    int level = 0;
  };

  // Texts of one path, joined.
  struct Channel {
    MappedText text;
    size_t piece_count = 0;
  };

  // A token of an answer and where else the record spells it.
  struct LogprobEntry {
    uint32_t owner = kNoNode;  // Its object in the outline.
    TextSpan token;
    TextSpan bytes;
    TextSpan alternatives;
    Fill alternatives_fill = Fill::kEmptyArray;
  };

  // What the ancestors of a node say about it.
  struct Context {
    bool is_credential = false;     // A value here is one.
    bool is_headers = false;        // A member here is a header.
    bool is_header_list = false;    // An element here is a header.
    bool names_credential = false;  // {"name": "api_key", "value": …}
    bool in_logprobs = false;
    bool in_alternatives = false;
    int64_t index = -1;  // What the object says its "index" is.
    uint64_t path = 0;
  };

  enum class Pieces : uint8_t { kNone, kTokens, kAll };

  // One record under the eye, and what its nodes' ancestors say. One a level, reused.
  struct Record {
    JsonOutline outline;
    std::vector<Context> contexts;
  };

  static constexpr int kMaxLevel = 6;

  // Where `view`, which shares its bytes with the body, begins there.
  static size_t OriginOf(const View& view) {
    return view.parent == nullptr ? 0 : OriginOf(*view.parent) + view.offset;
  }

  void AddEdit(const View& view, TextSpan span, Fill fill);
  void ScanBody(const View& view);
  void ScanText(const View& view, TextSpan span);
  void ScanString(const View& view, TextSpan inner);
  void ScanStream(const View& view);
  void ScanLines(const View& view, TextSpan span);
  void ScanValues(const View& view, Pieces pieces);
  size_t ScanRecords(const View& view, Pieces pieces);
  size_t ScanRecord(const View& view, size_t begin, Pieces pieces);
  void ScanChannels();
  void AddLogprobEdits();
  std::vector<Edit> Merged();

  // body_redactor_record.cc
  void ReadContexts(const View& view, Record* record) const;
  Context ContextOf(const View& view, const Record& record, const OutlineNode& node) const;
  void NoteMember(const View& view, Record* record, const OutlineNode& node) const;
  void ScanNode(const View& view, const Record& record, uint32_t node);
  void AddPieces(const View& view, const Record& record, Pieces pieces);
  void AddLogprobs(const View& view, const Record& record);

  const SecretScanner& scanner_;
  std::string_view body_;
  bool suspicious_ = false;  // More than joined pieces has to be looked at.
  std::vector<Edit> edits_;
  std::array<Record, kMaxLevel + 1> records_;
  std::unordered_map<uint64_t, Channel> channels_;
  std::vector<LogprobEntry> logprobs_;
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_BODY_REDACTOR_H_
