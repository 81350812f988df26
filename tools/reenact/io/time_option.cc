#include "tools/reenact/io/time_option.h"

#include "absl/time/time.h"

#include "store/store_layout.h"
#include "tools/reenact/io/time_text.h"

namespace reenact::tools {

absl::StatusOr<int64_t> ReadTime(const Context& context, const std::string& text) {
  absl::StatusOr<TimePoint> point = ParseTimePoint(text, store::WallNowNs(), absl::LocalTimeZone());
  if (!point.ok()) return point.status();
  if (!point->note.empty()) Note(context, point->note);
  return point->wall_ns;
}

}  // namespace reenact::tools
