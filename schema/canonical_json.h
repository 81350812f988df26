// One text for all JSON texts that mean the same request, to be hashed and compared.
//
// Equal: member order, white space, escapes, and numbers of equal decimal value (1, 1.0 and 1e0;
// -0 and 0). Different: element order, 1 and "1", absent and null, 9007199254740993 and
// 9007199254740992 (no double is ever made). Duplicate keys: the last one counts.

#ifndef REENACT_SCHEMA_CANONICAL_JSON_H_
#define REENACT_SCHEMA_CANONICAL_JSON_H_

#include <string>
#include <string_view>
#include <vector>

#include "schema/json_view.h"

namespace reenact::schema {

// Members sorted by the bytes of their keys, no white space, shortest escapes, exact decimals.
// Bits: a pure function of the value; the same on every machine. Lone surrogates are written as
// \udXXX escapes; other bytes that are not UTF-8 are kept. Empty for an absent value.
std::string CanonicalJson(JsonValue value);
// Exact decimal form of a JSON number as written: "1.50e1" -> "15", "-0.0" -> "0". Digits and an
// exponent where more than 40 zeros would have to be added: "1e999" -> "1e999".
std::string CanonicalNumber(std::string_view written);

// One place where two JSON values differ.
struct JsonDifference {
  std::string path;  // "messages[3].content"
  std::string
      expected;  // Raw text there, "" where absent. Shortened with an ellipsis past 200 bytes,
  std::string actual;  // on a code point, around the first difference.
  bool expected_present = true;
  bool actual_present = true;
  // Byte offset into the decoded strings, where both are strings; else into the raw texts.
  size_t first_difference = 0;
};

// In document order of `expected`, then members only in `actual`. At most `limit`.
std::vector<JsonDifference> DiffJson(JsonValue expected, JsonValue actual, size_t limit = 50);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_CANONICAL_JSON_H_
