// Secrets in plain text that are known by the name before them: members of JSON that is quoted
// somewhere, lines of configuration, environments, headers, parameters of URLs and of commands.

#ifndef REENACT_SCHEMA_INTERNAL_ASSIGNED_VALUES_H_
#define REENACT_SCHEMA_INTERNAL_ASSIGNED_VALUES_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "schema/internal/mapped_text.h"

namespace reenact::schema::internal {

// The name of letters, digits, '-' and '_' around `at`; at most 128 bytes each side.
TextSpan NameAround(std::string_view text, size_t at);

// The value that is given to the credential's name at `name`: by ':' or '=', or as the next word of
// a command ("--api-key k3y"). Where the notation leaves no doubt any value counts; elsewhere only
// one that could not be a word of a sentence or code.
std::optional<TextSpan> MatchAssignedValue(std::string_view text, const TextSpan& name);
// The same of a name that means a credential in the query of a URL only.
std::optional<TextSpan> MatchParameterValue(std::string_view text, const TextSpan& name);
// The cookies after "Cookie:" and "Set-Cookie:", to the end of the line.
std::optional<TextSpan> MatchCookies(std::string_view text, const TextSpan& name);
// True when a long value that is no words is given to the quoted name at `name`.
bool IsGivenOpaqueValue(std::string_view text, const TextSpan& name);
// True of what an opaque token looks like: long, without spaces, with a digit.
bool IsOpaque(std::string_view value);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_ASSIGNED_VALUES_H_
