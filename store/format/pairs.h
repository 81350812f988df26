// Lists of (key, value) as one column: a varint count, then key and value as length and bytes.
// An empty list is an empty column.

#ifndef REENACT_STORE_FORMAT_PAIRS_H_
#define REENACT_STORE_FORMAT_PAIRS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/varint.h"

namespace reenact::store {

using Pairs = std::vector<std::pair<std::string, std::string>>;

inline void EncodePairs(const Pairs& pairs, std::string* out) {
  out->clear();
  if (pairs.empty()) return;
  schema::PutVarint(out, pairs.size());
  for (const auto& [key, value] : pairs) {
    schema::PutString(out, key);
    schema::PutString(out, value);
  }
}

// Nothing when `bytes` is not what EncodePairs writes.
inline std::optional<Pairs> DecodePairs(std::string_view bytes) {
  Pairs pairs;
  if (bytes.empty()) return pairs;
  schema::Reader reader(bytes);
  const uint64_t count = reader.Varint();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const std::string_view key = reader.String();
    const std::string_view value = reader.String();
    if (reader.ok()) pairs.emplace_back(key, value);
  }
  if (!reader.ok() || !reader.AtEnd()) return std::nullopt;
  return pairs;
}

}  // namespace reenact::store

#endif  // REENACT_STORE_FORMAT_PAIRS_H_
