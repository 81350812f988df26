// Characters that arrive in two halves.

#ifndef REENACT_SCHEMA_INTERNAL_SURROGATES_H_
#define REENACT_SCHEMA_INTERNAL_SURROGATES_H_

#include <string>

namespace reenact::schema::internal {

// Replaces each high surrogate that is followed by a low one, both in their three-byte forms (see
// JsonValue::AsString), by the character that the pair stands for. Lone ones stay.
void JoinSurrogates(std::string* text);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_SURROGATES_H_
