#include "replayer/internal/frame_stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace reenact::replayer {
namespace {

constexpr size_t kLengthSize = 4;
constexpr size_t kReadStep = size_t{1} << 20;

bool ReadExactly(int fd, char* out, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(fd, out, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace

std::optional<std::string> ReadFrame(int fd) {
  unsigned char length[kLengthSize];
  if (!ReadExactly(fd, reinterpret_cast<char*>(length), kLengthSize)) return std::nullopt;
  const size_t size = static_cast<size_t>(length[0]) | static_cast<size_t>(length[1]) << 8 |
                      static_cast<size_t>(length[2]) << 16 | static_cast<size_t>(length[3]) << 24;
  if (size == 0 || size > schema::kMaxReplayFrame) return std::nullopt;
  std::string frame;
  while (frame.size() < size) {
    const size_t have = frame.size();
    const size_t step = std::min(kReadStep, size - have);
    frame.resize(have + step);
    if (!ReadExactly(fd, frame.data() + have, step)) return std::nullopt;
  }
  return frame;
}

bool WriteMessage(int fd, const schema::Message& message) {
  std::string frame = schema::EncodeMessage(message);
  if (frame.size() > schema::kMaxReplayFrame + kLengthSize) {
    frame = schema::EncodeMessage(
        schema::Diverged{"unusable: the recorded answer is too large for one frame (" +
                             std::to_string(frame.size()) + " bytes)",
                         0});
  }
  return WriteAll(fd, frame);
}

}  // namespace reenact::replayer
