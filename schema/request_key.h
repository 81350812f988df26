// What makes two requests the same request. Record and replay use this one predicate.

#ifndef REENACT_SCHEMA_REQUEST_KEY_H_
#define REENACT_SCHEMA_REQUEST_KEY_H_

#include <string>
#include <string_view>
#include <vector>

#include "schema/canonical_json.h"
#include "schema/record.h"

namespace reenact::schema {

enum class KeyBasis : uint8_t {
  kCanonicalJson = 1,  // The body is JSON and more than a number: its canonical form without
                       // volatile members was hashed.
  kRawBytes = 2,       // It is not: its bytes were hashed.
};

struct RequestKey {
  KeyBasis basis = KeyBasis::kRawBytes;
  Digest digest{};

  auto operator<=>(const RequestKey&) const = default;
};

// The key of a request body. For model calls of a known dialect (endpoint and shape of the body
// decide; see ModelDialect in model_view.h) members that carry no meaning are left out: user,
// metadata, prompt_cache_key, safety_identifier, store, stream_options; tool call ids count by
// order of first appearance, not by text.
RequestKey KeyOf(Boundary boundary, std::string_view provider, std::string_view body);

// "sha256:1f0c…" (12 digits), for messages.
std::string Shorten(const RequestKey& key);

// Why two requests have different keys, as JSON paths; volatile members are not named. When one of
// them is no JSON there is one difference with the path "(bytes)" and the offset of the first.
std::vector<JsonDifference> DiffRequests(Boundary boundary, std::string_view provider,
                                         std::string_view expected, std::string_view actual,
                                         size_t limit = 50);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_REQUEST_KEY_H_
