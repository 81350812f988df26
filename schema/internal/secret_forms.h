// The forms of secrets in plain text, one matcher each. All take the whole text and a place in it,
// look only near that place or at what they then return, and never past the end.

#ifndef REENACT_SCHEMA_INTERNAL_SECRET_FORMS_H_
#define REENACT_SCHEMA_INTERNAL_SECRET_FORMS_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "schema/internal/mapped_text.h"
#include "schema/internal/secret_triggers.h"

namespace reenact::schema::internal {

// A value of `form` whose prefix begins at `at`: "sk-…".
std::optional<TextSpan> MatchValueForm(std::string_view text, size_t at, const ValueForm& form);
// A JSON Web Token: "eyJ….eyJ….…".
std::optional<TextSpan> MatchWebToken(std::string_view text, size_t at);
// A private key between its armour lines; to where its text stops when the end is missing.
std::optional<TextSpan> MatchPrivateKey(std::string_view text, size_t at);
// The token after "Bearer " or "Basic ", when it is one and not the next word of a sentence.
std::optional<TextSpan> MatchBearer(std::string_view text, size_t at);
std::optional<TextSpan> MatchBasic(std::string_view text, size_t at);
// What stands between "://" at `at` and '@'.
std::optional<TextSpan> MatchUserInfo(std::string_view text, size_t at);

// Grows a span so that it neither begins nor ends inside a backslash escape.
TextSpan OutsideEscapes(std::string_view text, TextSpan span);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_SECRET_FORMS_H_
