// Canonical forms and differences of a document that is read with some values left out or
// replaced: how a request is seen once its meaningless members are gone.

#ifndef REENACT_SCHEMA_INTERNAL_CANONICAL_READING_H_
#define REENACT_SCHEMA_INTERNAL_CANONICAL_READING_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/canonical_json.h"

namespace reenact::schema::internal {

// By JsonValue::begin_offset(): the canonical text that counts instead of the value, or nothing
// where the member counts as absent. Only members of objects can be absent.
using Edits = std::map<size_t, std::optional<std::string>>;

struct JsonReading {
  JsonValue value;
  const Edits* edits = nullptr;  // Of the whole document; never null.
};

std::string CanonicalJson(const JsonReading& reading);
std::vector<JsonDifference> DiffJson(const JsonReading& expected, const JsonReading& actual,
                                     size_t limit);

// A member that counts: the last of its key, and not edited away.
struct JsonMember {
  std::string key;
  JsonValue value;
};

// In written order; of duplicates the last.
std::vector<JsonMember> CountingMembers(const JsonReading& object);

// What two texts that differ look like to a person: whole when short, else the part around their
// first difference, cut on code points and marked with ellipses. Fills expected and actual.
void ShowDifference(std::string_view expected, std::string_view actual, JsonDifference* difference);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_CANONICAL_READING_H_
