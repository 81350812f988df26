#include "replayer/mcp/mcp_frames.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "replayer/internal/socket_bytes.h"
#include "schema/mcp_session.h"

namespace reenact::replayer {
namespace {

constexpr size_t kHeadSize = 1 + 2 * sizeof(uint64_t);

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
  std::optional<std::string> bytes = ReceiveAnnounced(fd_, size);
  if (!bytes) return std::nullopt;
  frame.bytes = *std::move(bytes);
  return frame;
}

void McpFrameSocket::StopReceiving() const {
  shutdown(fd_, SHUT_RD);
}

void McpFrameSocket::End() const {
  shutdown(fd_, SHUT_RDWR);
}

}  // namespace reenact::replayer
