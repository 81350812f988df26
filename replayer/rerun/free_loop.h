// One free run: the loop that asks, answers tools from the tape, and ends.

#ifndef REENACT_REPLAYER_RERUN_FREE_LOOP_H_
#define REENACT_REPLAYER_RERUN_FREE_LOOP_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replayer/rerun/call_rerun.h"
#include "replayer/rerun/conversation.h"
#include "replayer/rerun/free_run.h"
#include "replayer/rerun/recorded_path.h"
#include "replayer/rerun/target.h"

namespace reenact::rerun {

// What all runs of a report share; read alone.
struct FreeGround {
  const RecordedPath* path = nullptr;
  const ToolTape* tape = nullptr;
  const std::vector<CallRerun>* calls = nullptr;  // Prepared, one for each call of `path`.
  int64_t max_steps = 0;
  std::function<void()> on_answer;  // May be empty.
};

// Everything of a FreeRun but its outcome.
class FreeLoop {
 public:
  FreeLoop(const FreeGround& ground, Target* target) : ground_(ground), target_(target) {}

  FreeRun Run();

 private:
  // A tool that the tape cannot answer.
  struct Missing {
    FreeEnd end = FreeEnd::kToolNotRecorded;
    std::string what;
  };

  // Whether the run goes on.
  bool Answered(FreeStep* step);
  bool Leaves(const FreeStep& step, const CallRerun& recorded);
  // Answers the tools of the step; the first that has no record.
  std::optional<Missing> TakeTools(const schema::Choice& answer, FreeStep* step,
                                   std::vector<ToolMessage>* messages);
  bool Compose(const schema::Choice& answer, const std::vector<ToolMessage>& tools);
  bool End(FreeEnd end, std::string detail = "");

  const FreeGround& ground_;
  Target* const target_;
  FreeRun run_;
  Question question_;
  std::optional<size_t> on_path_ = 0;  // Ordinal of the recorded call that is asked next.
  bool did_the_same_ = true;           // As the record, so far.
  std::map<std::pair<std::string, std::string>, size_t> occurrences_;
};

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_FREE_LOOP_H_
