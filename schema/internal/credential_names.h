// Which names say that their value is a credential. Lists are data; how a name is found and where
// its value ends is the business of those who ask.

#ifndef REENACT_SCHEMA_INTERNAL_CREDENTIAL_NAMES_H_
#define REENACT_SCHEMA_INTERNAL_CREDENTIAL_NAMES_H_

#include <string_view>

namespace reenact::schema::internal {

// A key of JSON or of a configuration line. Case, '-', '_', '.', a leading "x-" and a plural s do
// not count: "X-Api-Key", "openai_api_keys", "dbPassword". Never "token" alone or "max_tokens",
// which are everyday words of this trade.
bool IsCredentialKey(std::string_view name);

// A query parameter of a URL: credential keys and the short names that mean one there, such as
// "key" and "sig".
bool IsCredentialParameter(std::string_view name);

// "token": a credential when its value is opaque, a word or a piece of one elsewhere.
bool IsTokenKey(std::string_view name);

// A member of an object that is known to hold HTTP headers: anything that speaks of a key, a
// token, a session or the like.
bool IsCredentialHeaderMember(std::string_view name);

// "headers", "extra_headers", "httpHeaders".
bool IsHeadersKey(std::string_view name);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_CREDENTIAL_NAMES_H_
