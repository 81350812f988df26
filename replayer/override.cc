#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "replayer/internal/message_text.h"
#include "replayer/replay_session.h"

namespace reenact::replayer {
namespace {

constexpr char kForms[] =
    "the forms are clock=TIME, clock:NAME=TIME, tool:NAME=ANSWER, retrieval:NAME=ANSWER and "
    "component:NAME=CONTENT";

absl::Status Invalid(const std::string& text, const std::string& why) {
  return absl::InvalidArgumentError("override " + Quote(text) + ": " + why + "; " + kForms);
}

// A clock reading is an int64 of nanoseconds, which ends in 2262.
bool FitsClock(absl::Time time) {
  return time > absl::FromUnixNanos(std::numeric_limits<int64_t>::min()) &&
         time < absl::FromUnixNanos(std::numeric_limits<int64_t>::max());
}

}  // namespace

absl::StatusOr<Override> ParseOverride(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return Invalid(text, "there is no '='");
  const std::string left = text.substr(0, equals);
  const size_t colon = left.find(':');
  const std::string target = left.substr(0, colon);

  Override result;
  result.value = text.substr(equals + 1);
  if (colon != std::string::npos) result.name = left.substr(colon + 1);
  if (target == "clock") {
    result.target = Override::Target::kClock;
  } else if (target == "tool") {
    result.target = Override::Target::kTool;
  } else if (target == "retrieval") {
    result.target = Override::Target::kRetrieval;
  } else if (target == "component") {
    result.target = Override::Target::kComponent;
  } else {
    return Invalid(text, "nothing is called " + Quote(target));
  }
  if (result.target != Override::Target::kClock) {
    if (result.name.empty()) return Invalid(text, "the name is missing");
    return result;
  }
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, result.value, &time, &error) || !FitsClock(time)) {
    return Invalid(text, Quote(result.value) + " is no RFC 3339 time with a zone");
  }
  return result;
}

}  // namespace reenact::replayer
