// Bounds on a request's JSON, looked for before anything is built of it: a tree that is nested too
// deeply overflows the stack of whoever walks it, and objects that keep their order take quadratic
// time to fill.

#ifndef REENACT_TOOLS_ENGINE_SERVER_JSON_BOUNDS_H_
#define REENACT_TOOLS_ENGINE_SERVER_JSON_BOUNDS_H_

#include <string>
#include <string_view>

namespace reenact::engine_server {

inline constexpr int kDeepestJson = 64;
inline constexpr int kMostMembers = 2048;  // Of one object.

// What is exceeded, in words; empty when nothing is. Text that is not JSON is for the parser to
// refuse.
std::string ExceededBound(std::string_view json);

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_JSON_BOUNDS_H_
