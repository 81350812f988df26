// Whole pieces of bytes over a connected socket that blocks.

#ifndef REENACT_REPLAYER_INTERNAL_SOCKET_BYTES_H_
#define REENACT_REPLAYER_INTERNAL_SOCKET_BYTES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace reenact::replayer {

// False: the peer has gone.
bool SendAll(int fd, std::string_view bytes);

// False: the peer has gone before all of `size` came.
bool ReceiveAll(int fd, char* out, size_t size);

// As many bytes as the peer announced; nothing when it has gone before. A number that a stranger
// wrote is believed only as far as bytes arrive.
std::optional<std::string> ReceiveAnnounced(int fd, size_t size);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_SOCKET_BYTES_H_
