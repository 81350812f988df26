#include "replayer/internal/frame_stream.h"

#include <cstddef>

#include "replayer/internal/socket_bytes.h"

namespace reenact::replayer {
namespace {

constexpr size_t kLengthSize = 4;

}  // namespace

std::optional<std::string> ReadFrame(int fd) {
  unsigned char length[kLengthSize];
  if (!ReceiveAll(fd, reinterpret_cast<char*>(length), kLengthSize)) return std::nullopt;
  const size_t size = static_cast<size_t>(length[0]) | static_cast<size_t>(length[1]) << 8 |
                      static_cast<size_t>(length[2]) << 16 | static_cast<size_t>(length[3]) << 24;
  if (size == 0 || size > schema::kMaxReplayFrame) return std::nullopt;
  return ReceiveAnnounced(fd, size);
}

bool WriteMessage(int fd, const schema::Message& message) {
  std::string frame = schema::EncodeMessage(message);
  if (frame.size() > schema::kMaxReplayFrame + kLengthSize) {
    frame = schema::EncodeMessage(
        schema::Diverged{"unusable: the recorded answer is too large for one frame (" +
                             std::to_string(frame.size()) + " bytes)",
                         0});
  }
  return SendAll(fd, frame);
}

}  // namespace reenact::replayer
