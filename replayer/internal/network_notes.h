// What the network guard saw, as facts of a replay.

#ifndef REENACT_REPLAYER_INTERNAL_NETWORK_NOTES_H_
#define REENACT_REPLAYER_INTERNAL_NETWORK_NOTES_H_

#include "replayer/guarded_process.h"
#include "replayer/replay_session.h"

namespace reenact::replayer {

// Refused attempts are divergences; a missing guard lowers the level.
void NoteNetwork(const GuardReport& network, ReplaySession* session);

schema::Moment MomentNow();

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_NETWORK_NOTES_H_
