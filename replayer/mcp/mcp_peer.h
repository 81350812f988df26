// What stands behind `reenact mcp` while it passes lines on between a client and its server: a
// recording, or a tape that answers in the server's place; in this process or in the one that
// started the program (mcp_hub.h).

#ifndef REENACT_REPLAYER_MCP_MCP_PEER_H_
#define REENACT_REPLAYER_MCP_MCP_PEER_H_

#include <string>
#include <string_view>
#include <vector>

#include "schema/json_rpc.h"

namespace reenact::replayer {

// What the client gets from a tape.
struct McpReply {
  std::vector<std::string> lines;  // Without their ends.
  bool server_gone = false;        // The server ended here when it was recorded.
  std::string server_end;          // How: "the server ended: exit status 3".
};

// Threads: one for the client's side, one for the server's.
class McpPeer {
 public:
  virtual ~McpPeer() = default;

  // True: no server is to be started, and replies count.
  virtual bool replays() const = 0;
  // What the server said before it was asked anything.
  virtual McpReply Begin() = 0;
  // Returns when the line is recorded, or answered.
  virtual McpReply FromClient(const schema::LineReader::Line& line) = 0;
  virtual void FromServer(const schema::LineReader::Line& line) = 0;
  virtual void ServerEnded(std::string_view detail) = 0;
  virtual void ClientEnded() = 0;
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_MCP_MCP_PEER_H_
