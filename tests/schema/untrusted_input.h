// The entry points of schema/ that read bytes of strangers, each with what must hold of whatever
// it reads. For fuzz targets, and for the unit test that mutates a corpus.

#ifndef REENACT_TESTS_SCHEMA_UNTRUSTED_INPUT_H_
#define REENACT_TESTS_SCHEMA_UNTRUSTED_INPUT_H_

#include <optional>
#include <string>
#include <string_view>

namespace reenact::schema {

// Each: the rule that was broken, in words. Nothing when all hold.

// Views, canonical form, differences and keys agree with each other.
std::optional<std::string> CheckJson(std::string_view bytes);
// The rules of redaction_checks.h, without and with a known secret.
std::optional<std::string> CheckRedaction(std::string_view bytes);
// What is decoded encodes to the same bytes.
std::optional<std::string> CheckProtocol(std::string_view bytes);

}  // namespace reenact::schema

#endif  // REENACT_TESTS_SCHEMA_UNTRUSTED_INPUT_H_
