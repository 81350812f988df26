// Which members of a request's body carry no meaning, and which hold ids that a model made up: the
// list that a provider's dialect comes with, as data.

#ifndef REENACT_SCHEMA_INTERNAL_VOLATILE_MEMBERS_H_
#define REENACT_SCHEMA_INTERNAL_VOLATILE_MEMBERS_H_

#include "schema/dialect.h"
#include "schema/internal/canonical_reading.h"
#include "schema/json_view.h"

namespace reenact::schema::internal {

// Volatile members count as absent. Each id counts as its place in the order in which they are
// first met, which is the same for two requests exactly when their ids can be renamed into each
// other.
Edits VolatileEdits(ModelDialect dialect, JsonValue request);
// Of a message of MCP: its number and "_meta".
Edits McpEdits(JsonValue message);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_VOLATILE_MEMBERS_H_
