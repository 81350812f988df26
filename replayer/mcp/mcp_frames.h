// The words between `reenact mcp` and the hub, on a local socket: a type, a size and that many
// bytes. Both ends are of one version; what does not fit ends the connection.

#ifndef REENACT_REPLAYER_MCP_MCP_FRAMES_H_
#define REENACT_REPLAYER_MCP_MCP_FRAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replayer/mcp/mcp_peer.h"

namespace reenact::replayer {

enum class McpFrameType : uint8_t {
  // To the hub.
  kSecret = 'K',
  kServer = 'H',  // Its name; after the secrets. Answered by kMode, then as kBegin.
  kFromClient = 'C',
  kFromServer = 'S',
  kServerEnded = 'E',
  kClientEnded = 'X',
  // From it.
  kMode = 'M',  // "record" or "replay".
  kLine = 'L',
  kServerGone = 'G',
  kDone = '.',  // After kServer, kFromClient, kServerEnded and kClientEnded: all of it is taken in.
};

struct McpFrame {
  McpFrameType type = McpFrameType::kDone;
  uint64_t whole_size = 0;  // Lines: before they were cut.
  std::string bytes;

  schema::LineReader::Line line() const { return {bytes, whole_size}; }
};

// Owns a connected socket.
class McpFrameSocket {
 public:
  explicit McpFrameSocket(int fd) : fd_(fd) {}

  ~McpFrameSocket();
  McpFrameSocket(const McpFrameSocket&) = delete;
  McpFrameSocket& operator=(const McpFrameSocket&) = delete;

  // False: the other end is gone.
  bool Send(McpFrameType type, std::string_view bytes = {}, uint64_t whole_size = 0) const;
  // Nothing: the other end is gone, or speaks another language.
  std::optional<McpFrame> Receive() const;
  // Receive gets what has been sent, and then nothing more.
  void StopReceiving() const;
  // The other end gets what has been sent, and then is told that this was all.
  void End() const;

 private:
  const int fd_;
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_MCP_MCP_FRAMES_H_
