// Where bytes stop being UTF-8. Providers, tools and cut streams send such bytes; they are recorded
// and shown, never repaired.

#ifndef REENACT_SCHEMA_INTERNAL_UTF8_H_
#define REENACT_SCHEMA_INTERNAL_UTF8_H_

#include <cstddef>
#include <string_view>

namespace reenact::schema::internal {

struct Utf8Faults {
  bool invalid = false;     // Somewhere there are bytes that no character contains.
  bool incomplete = false;  // The text ends inside a character; not counted as invalid.
};

// Source: Unicode 15, table 3-7 (well-formed UTF-8 byte sequences). Surrogates are invalid.
Utf8Faults FindUtf8Faults(std::string_view bytes);

// The longest prefix of at most `limit` bytes that does not end inside a character.
std::string_view CutAtCodePoint(std::string_view text, size_t limit);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_UTF8_H_
