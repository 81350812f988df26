// The conversation that a recorded run had with its model, and what its tools answered there: the
// way that a free agent loop is measured against, and the tape that its tools are answered from.

#ifndef REENACT_REPLAYER_RERUN_RECORDED_PATH_H_
#define REENACT_REPLAYER_RERUN_RECORDED_PATH_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/rerun/conversation.h"
#include "schema/model_view.h"
#include "schema/record.h"

namespace reenact::rerun {

class RecordedPath {
 public:
  // Model calls of which each continues the one before: from event `step` on, else the longest of
  // the run, of equal ones the first. A call that was tried again counts once, as it ended.
  // Errors: InvalidArgument where `step` is no model call; NotFound where the run has none.
  static absl::StatusOr<RecordedPath> Of(const schema::RecordedRun& tape,
                                         const std::optional<size_t>& step);

  // Indexes of events, in order.
  const std::vector<size_t>& calls() const { return calls_; }

  // Model calls of the run that are not of this conversation.
  const std::vector<size_t>& others() const { return others_; }

  // What the recorded model did at each call, as ActionOf has it.
  const std::vector<std::string>& actions() const { return actions_; }

  // The last answer is whole: the record says what the conversation came to.
  bool is_whole() const { return !actions_.empty() && !actions_.back().empty(); }

 private:
  std::vector<size_t> calls_;
  std::vector<size_t> others_;
  std::vector<std::string> actions_;
};

// A recorded answer of a tool.
struct TapedAnswer {
  ToolMessage message;  // Without an id.
  size_t event = 0;     // The model call that told it, or the call of the tool.
};

// The answers by tool and canonical arguments. What the model was told comes first, since a program
// may have put a tool's answer into other words; then what tools answered: those in the scopes of
// the conversation, then others.
class ToolTape {
 public:
  ToolTape(const schema::RecordedRun& tape, const RecordedPath& path);

  // The answer to call `occurrence`, from 0, of those with this name and these arguments. Null:
  // there is none; `*recorded` says how many there are.
  const TapedAnswer* Find(const schema::ToolCall& call, size_t occurrence, size_t* recorded) const;

 private:
  using Key = std::pair<std::string, std::string>;

  void AddTold(const schema::RecordedRun& tape, const RecordedPath& path);
  void AddAnswered(const schema::RecordedRun& tape, const RecordedPath& path);

  std::map<Key, std::vector<TapedAnswer>> told_;
  std::map<Key, std::vector<TapedAnswer>> answered_;
};

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_RECORDED_PATH_H_
