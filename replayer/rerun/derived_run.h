// A run made of a recorded one and of answers that a model gave now.

#ifndef REENACT_REPLAYER_RERUN_DERIVED_RUN_H_
#define REENACT_REPLAYER_RERUN_DERIVED_RUN_H_

#include <cstddef>
#include <vector>

#include "schema/record.h"

namespace reenact::rerun {

struct Derivation {
  schema::Moment now;     // Stamps the run.
  size_t repetition = 0;  // Of one rerun: each gets an id of its own.
  schema::Tags tags;      // "reenact.rerun" and what came of it.
};

// `tape` with `events` in place of its own and itself as the parent. The tags that say what came of
// earlier replays are left out.
schema::RecordedRun DeriveRun(const schema::RecordedRun& tape, std::vector<schema::Event> events,
                              const Derivation& derivation);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_DERIVED_RUN_H_
