// What a finished session comes to: the fingerprint of what was consumed, and the derived run.

#ifndef REENACT_REPLAYER_INTERNAL_SESSION_REPORT_H_
#define REENACT_REPLAYER_INTERNAL_SESSION_REPORT_H_

#include <string>

#include "replayer/internal/session_state.h"

namespace reenact::replayer {

// SHA-256 in hex over calls, readings and output, in order of address and within it of the tape:
// neither the order in which threads came nor any time enters it.
std::string Fingerprint(const SessionState& session);

// The run as re-executed: its events in the order of this replay, the bytes that were asked and
// served, `now` for every time.
schema::RecordedRun DeriveRun(const SessionState& session, const ReplayReport& report,
                              schema::Moment now);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_SESSION_REPORT_H_
