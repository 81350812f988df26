// Which event of one run answers to which of another. Pure.

#ifndef REENACT_TOOLS_REENACT_RUNS_EVENT_ALIGNMENT_H_
#define REENACT_TOOLS_REENACT_RUNS_EVENT_ALIGNMENT_H_

#include <vector>

#include "schema/request_key.h"
#include "tools/reenact/runs/run_view.h"

namespace reenact::tools {

struct EventPair {
  const EventView* a = nullptr;  // Null: only the other run has it.
  const EventView* b = nullptr;
};

// Within (scope, boundary, name): equal requests in order, then what is left in order. Scopes are
// often keyed by ids that a provider makes up anew (a tool call's): events in scopes that the other
// run has nothing of are paired by boundary and name alone. The pairs come in the order of A; what
// only B has follows what came before it in B.
std::vector<EventPair> AlignEvents(const RunView& a, const RunView& b);

// A call's request as it is compared; into `call`.
schema::CallRequest CallRequestOf(const schema::Event& call);

// The key of a call's request; one and the same for all readings.
schema::RequestKey RequestKeyOf(const EventView& view);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RUNS_EVENT_ALIGNMENT_H_
