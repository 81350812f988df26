// What the bytes of an answer are framed in. Headers are asked only where the bytes do not tell:
// proxies and clients decode bodies and leave the headers as they were.

#ifndef REENACT_SCHEMA_INTERNAL_ANSWER_BODY_H_
#define REENACT_SCHEMA_INTERNAL_ANSWER_BODY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/exchange.h"

namespace reenact::schema::internal {

enum class BodyKind : uint8_t {
  kEmpty,
  kDocument,     // One JSON document, or its beginning.
  kEventStream,  // Server-sent events.
  kLines,        // JSON documents, one a line.
  kEncoded,      // Compressed, or frames of a binary protocol.
  kText,         // Anything else: the page of a proxy in between.
};

BodyKind KindOfBody(const LastAttempt& answer);

// Of what is kEncoded: "gzip", "amazon.eventstream".
std::string EncodingOf(const LastAttempt& answer);

// True where the first non-blank byte is a '['.
bool IsList(std::string_view body);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_ANSWER_BODY_H_
