// Headers of which a record keeps that they were there, and not what they said: a session of MCP
// goes on only with a client that was given a session id, whichever it is.

#ifndef REENACT_SCHEMA_STORED_HEADER_H_
#define REENACT_SCHEMA_STORED_HEADER_H_

#include <string_view>

namespace reenact::schema {

// What may be stored as the value of an allowed header (redaction.h): mostly `value`.
std::string_view StoredHeaderValue(std::string_view name, std::string_view value);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_STORED_HEADER_H_
