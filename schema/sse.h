// Server-sent events, read as leniently as the clients in the field read them, with a note of
// every leniency. Source: WHATWG HTML, "server-sent events"; docs list where SDKs differ.

#ifndef REENACT_SCHEMA_SSE_H_
#define REENACT_SCHEMA_SSE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reenact::schema {

struct SseEvent {
  std::string event;        // Empty where no event line was sent.
  std::string data;         // data lines joined with \n.
  bool has_data = false;    // A record without data lines is kept, with this false.
  size_t begin_offset = 0;  // In the stream's bytes.
  size_t end_offset = 0;    // Past the blank line.
};

struct SseStream {
  std::vector<SseEvent> events;
  int64_t comment_count = 0;
  bool missing_final_blank =
      false;  // The last record was not ended; it is in `events` all the same.
  // "bom", "crlf", "cr", "dataless_event", "empty_data" (a data line without a value: official
  // clients fail on it), "unknown_field", "missing_final_blank", "invalid_utf8",
  // "incomplete_utf8" (the stream ends inside a character). Each once.
  std::vector<std::string> anomalies;
};

// Reads a whole stream. The result does not depend on how the bytes were cut into reads.
// Comments alone, and lines with unknown fields alone, make no record.
SseStream ParseSse(std::string_view bytes);

// True when the body looks like an event stream though no content type says so.
bool LooksLikeSse(std::string_view bytes);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_SSE_H_
