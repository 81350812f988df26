// A recorded call, made ready for the local engine, which computes it by whatever schedule it is
// given; and what the record has of its answer, to compare.

#ifndef REENACT_TOOLS_REENACT_CAUSES_SCHEDULED_CALL_H_
#define REENACT_TOOLS_REENACT_CAUSES_SCHEDULED_CALL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/engine.h"
#include "replayer/explain/envelope.h"
#include "schema/model_view.h"
#include "schema/record.h"

namespace reenact::tools {

// What the record has of an answer, in the best terms that it offers.
struct RecordedAnswer {
  std::vector<int64_t> token_ids;
  std::string content;
  std::vector<schema::ToolCall> tool_calls;
  std::optional<local_engine::StockSchedule> schedule;  // Where the server told it.
};

RecordedAnswer ReadRecordedAnswer(const schema::Event& call);

class ScheduledCall {
 public:
  // `engine` outlives it. InvalidArgument where the engine does not take such a call.
  static absl::StatusOr<ScheduledCall> Make(local_engine::Engine* engine,
                                            const schema::Event& call);

  const local_engine::Request& request() const { return request_; }

  // Empty: the scheduler's own, alone.
  absl::StatusOr<explain::ScheduledAnswer> Answer(
      const local_engine::StockSchedule& schedule) const;

  // As a server would have given it.
  schema::ModelView ViewOf(const explain::ScheduledAnswer& answer) const;

  bool Is(const explain::ScheduledAnswer& answer, const RecordedAnswer& recorded) const;

 private:
  explicit ScheduledCall(local_engine::Engine* engine) : engine_(engine) {}

  bool IsEnd(int32_t token) const;
  std::string TextOf(const std::vector<int32_t>& tokens) const;

  local_engine::Engine* engine_;
  std::vector<std::string> tool_names_;
  local_engine::Request request_;
};

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_SCHEDULED_CALL_H_
