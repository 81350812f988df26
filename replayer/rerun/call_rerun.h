// One recorded model call that is asked again: what is asked, what is answered, and how the answers
// compare with the record.

#ifndef REENACT_REPLAYER_RERUN_CALL_RERUN_H_
#define REENACT_REPLAYER_RERUN_CALL_RERUN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "replayer/rerun/question.h"
#include "replayer/rerun/repeated_asking.h"
#include "replayer/rerun/target.h"
#include "replayer/rerun/token_comparison.h"
#include "schema/record.h"

namespace reenact::rerun {

// A model call in a dialect that targets speak.
bool IsAskable(const schema::Event& event);

struct CallRerun {
  size_t event_index = 0;
  Question question;
  schema::ModelView recorded;
  std::string not_compared_because;  // The recorded answer is none: "it was truncated". Else empty.
  std::vector<Sample> samples;
  std::vector<TokenComparison> comparisons;  // Of each sample that was answered, in order.
  int64_t agreed = 0;                        // Of them.
  int64_t unique = 0;                        // Different answers, the recorded one not counted.
  std::vector<BrokenPromise> broken_promises;

  int64_t answered() const { return static_cast<int64_t>(comparisons.size()); }

  // The comparison to tell of: the first that differs, else the first; null without any.
  const TokenComparison* Telling() const;
};

// Ready to be asked. A seed that the recorded answer tells is asked for again, so that the same
// draws are made.
CallRerun PrepareCall(const schema::Event& event, size_t index, RequestEdits edits);

// Compares `call->samples` with the record. Where the recorded token is none of the alternatives
// that a new answer lists, a target that forces tokens is asked how likely it was.
void CompareSamples(Target* target, CallRerun* call);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_CALL_RERUN_H_
