// The part of an MCP server, played from a tape on standard input and output.

#ifndef REENACT_TOOLS_REENACT_RECORD_MCP_PLAY_H_
#define REENACT_TOOLS_REENACT_RECORD_MCP_PLAY_H_

#include <string_view>

#include "replayer/mcp/mcp_peer.h"

namespace reenact::tools {

// False when the other end is gone.
bool WriteAll(int fd, std::string_view bytes);

// Ends with the client's input, or where the server ended when it was recorded. Returns its exit
// status then, else 0.
int PlayMcpServer(replayer::McpPeer* peer);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RECORD_MCP_PLAY_H_
