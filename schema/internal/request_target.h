// The part of a request's URL that says what is asked for.

#ifndef REENACT_SCHEMA_INTERNAL_REQUEST_TARGET_H_
#define REENACT_SCHEMA_INTERNAL_REQUEST_TARGET_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/canonical_json.h"
#include "schema/dialect.h"

namespace reenact::schema::internal {

struct RequestTarget {
  std::string path;
  // Without credentials, by name; parameters of one name in written order.
  std::vector<std::pair<std::string, std::string>> query;

  bool empty() const { return path.empty() && query.empty(); }

  bool operator==(const RequestTarget&) const = default;
};

// Empty for calls whose body says everything.
RequestTarget TargetOf(std::string_view provider, ModelDialect dialect, std::string_view endpoint);

// What a path says of a model call besides its dialect.
struct EndpointFacts {
  std::string
      model;  // Azure's deployment, Google's and Bedrock's model; empty where it is not there.
  bool streams = false;  // The path asks for a stream.
};

EndpointFacts FactsOfEndpoint(std::string_view endpoint);

// One text for it, from which no other target's can be made.
std::string CanonicalTarget(const RequestTarget& target);

// "(path)", "(query).city". At most `limit`.
std::vector<JsonDifference> DiffTargets(const RequestTarget& expected, const RequestTarget& actual,
                                        size_t limit);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_REQUEST_TARGET_H_
