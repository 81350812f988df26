// Answers that schedules gave, kept in a file: a search that was stopped goes on where it was,
// since an answer is a function of its schedule.

#ifndef REENACT_TOOLS_REENACT_CAUSES_KNOWN_ANSWERS_H_
#define REENACT_TOOLS_REENACT_CAUSES_KNOWN_ANSWERS_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "local_engine/engine/stock_schedule.h"
#include "replayer/explain/envelope.h"

namespace reenact::tools {

class KnownAnswers {
 public:
  // `of`: the engine and the call, since answers of others are none of these. An empty path keeps
  // nothing. A last line that was cut off is passed over. Errors: InvalidArgument for a file of
  // another call or engine; PermissionDenied.
  static absl::StatusOr<KnownAnswers> Open(const std::string& path, const std::string& of);

  // What is known, else what `compute` gives, which is known from then on. Errors: those of
  // `compute`; ResourceExhausted where it cannot be written down.
  absl::StatusOr<explain::ScheduledAnswer> Answer(
      const local_engine::StockSchedule& schedule,
      const std::function<absl::StatusOr<explain::ScheduledAnswer>()>& compute);

 private:
  bool Read(std::string_view line, std::string_view of);

  std::string path_;
  std::string of_;
  bool has_written_ = false;
  std::map<std::string, explain::ScheduledAnswer> answers_;  // By the schedule's text.
};

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_KNOWN_ANSWERS_H_
