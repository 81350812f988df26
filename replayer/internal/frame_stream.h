// Frames of schema/replay_protocol.h over a connected socket, with limits on what a peer can make
// us do: a length is believed only as far as bytes arrive.

#ifndef REENACT_REPLAYER_INTERNAL_FRAME_STREAM_H_
#define REENACT_REPLAYER_INTERNAL_FRAME_STREAM_H_

#include <optional>
#include <string>

#include "schema/replay_protocol.h"

namespace reenact::replayer {

// The frame without its length; nothing when the peer has gone, or announces an empty frame or one
// above schema::kMaxReplayFrame.
std::optional<std::string> ReadFrame(int fd);

// False: the peer has gone.
bool WriteMessage(int fd, const schema::Message& message);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_FRAME_STREAM_H_
