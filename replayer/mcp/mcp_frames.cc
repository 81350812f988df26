#include "replayer/mcp/mcp_frames.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "schema/mcp_session.h"

namespace reenact::replayer {
namespace {

constexpr size_t kHeadSize = 1 + 2 * sizeof(uint64_t);

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool ReceiveAll(int fd, char* out, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(fd, out, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

McpFrameSocket::~McpFrameSocket() {
  close(fd_);
}

bool McpFrameSocket::Send(McpFrameType type, std::string_view bytes, uint64_t whole_size) const {
  const uint64_t size = bytes.size();
  std::string frame(kHeadSize, '\0');
  frame[0] = static_cast<char>(type);
  std::memcpy(&frame[1], &size, sizeof(size));
  std::memcpy(&frame[1 + sizeof(size)], &whole_size, sizeof(whole_size));
  frame += bytes;
  return SendAll(fd_, frame);
}

std::optional<McpFrame> McpFrameSocket::Receive() const {
  std::array<char, kHeadSize> head{};
  if (!ReceiveAll(fd_, head.data(), head.size())) return std::nullopt;
  McpFrame frame;
  frame.type = static_cast<McpFrameType>(head[0]);
  uint64_t size = 0;
  std::memcpy(&size, &head[1], sizeof(size));
  std::memcpy(&frame.whole_size, &head[1 + sizeof(size)], sizeof(frame.whole_size));
  if (size > schema::kMcpLineLimit) return std::nullopt;
  frame.bytes.resize(size);
  if (!ReceiveAll(fd_, frame.bytes.data(), size)) return std::nullopt;
  return frame;
}

void McpFrameSocket::StopReceiving() const {
  shutdown(fd_, SHUT_RD);
}

}  // namespace reenact::replayer
