// What a run did: which tool its model asked for with which arguments, or how it finished; and
// where two runs did not do the same.

#ifndef REENACT_REPLAYER_EXPLAIN_DECISION_H_
#define REENACT_REPLAYER_EXPLAIN_DECISION_H_

#include <optional>

#include "replayer/explain/explanation.h"
#include "replayer/explain/variable.h"
#include "schema/record.h"

namespace reenact::explain {

// The first model calls, in the order of beginning, whose actions differ. Nothing: all that both
// runs have are equal.
std::optional<DecisiveCalls> FindDecisiveCalls(const schema::RecordedRun& incident,
                                               const schema::RecordedRun& reference);

// What the records of both decisive calls show.
RecordEvidence EvidenceOf(const schema::Event& incident, const schema::Event& reference);

}  // namespace reenact::explain

#endif  // REENACT_REPLAYER_EXPLAIN_DECISION_H_
