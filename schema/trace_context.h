// Trace ids as hosts have them. Source: W3C Trace Context, section 3.2.

#ifndef REENACT_SCHEMA_TRACE_CONTEXT_H_
#define REENACT_SCHEMA_TRACE_CONTEXT_H_

#include <string>
#include <string_view>

namespace reenact::schema {

// The 32 lower-case hex digits in a trace id or in a whole traceparent header. Empty when `text` is
// neither, or is the invalid id (zeros).
std::string ParseTraceId(std::string_view text);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_TRACE_CONTEXT_H_
