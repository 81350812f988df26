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

// A request as it is compared: as it was recorded, or as it is made now.
struct CallRequest {
  Boundary boundary = Boundary::kModel;
  std::string_view provider;
  std::string_view endpoint;  // A URL or a path with query; may be empty.
  std::string_view body;
};

// The key of a request. Of its body, members that carry no meaning are left out: for model calls of
// a known dialect (see dialect.h) who asked, how it is billed, kept and decorated; for MCP the
// message's id and "_meta". Ids of tool calls, which models make up, count by order of first
// appearance, not by text.
// Of the endpoint nothing counts, so that a loopback server may stand in for the provider, except
// what names the model where the body does not: Azure's deployment, Google's model and method, the
// id of a stored response. For plain HTTP (provider kPlainHttp) its path and its query count,
// parameters in any order, without credentials; the host does not.
RequestKey KeyOf(const CallRequest& request);
RequestKey KeyOf(Boundary boundary, std::string_view provider, std::string_view body);

// "sha256:1f0c…" (12 digits), for messages.
std::string Shorten(const RequestKey& key);

// Why two requests have different keys, as JSON paths; volatile members are not named. What of the
// endpoint differs comes first: "(path)", "(query).city". When a body is no JSON there is one
// difference with the path "(bytes)" and the offset of the first.
std::vector<JsonDifference> DiffRequests(const CallRequest& expected, const CallRequest& actual,
                                         size_t limit = 50);
std::vector<JsonDifference> DiffRequests(Boundary boundary, std::string_view provider,
                                         std::string_view expected, std::string_view actual,
                                         size_t limit = 50);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_REQUEST_KEY_H_
