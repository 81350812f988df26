// What must hold of every redaction, whatever the body: shared by the tests of examples, of
// properties and of mutations.

#ifndef REENACT_TESTS_SCHEMA_REDACTION_CHECKS_H_
#define REENACT_TESTS_SCHEMA_REDACTION_CHECKS_H_

#include <optional>
#include <string>
#include <string_view>

#include "schema/redaction.h"

namespace reenact::schema {

// The first rule that the redaction of `body` breaks, in words: the result redacts to itself, the
// replacements describe it, JSON stays JSON, records of a stream stay records, and cuts at every
// `stride`-th byte still cover the bytes. Nothing when all hold.
std::optional<std::string> FindBrokenRule(std::string_view body, const RedactionPolicy& policy,
                                          size_t stride = 7);

}  // namespace reenact::schema

#endif  // REENACT_TESTS_SCHEMA_REDACTION_CHECKS_H_
