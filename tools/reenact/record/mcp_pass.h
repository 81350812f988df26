// A session of MCP over standard input and output, passed on between the client that started this
// process and a server that it starts; a peer sees each line before its end is passed on.

#ifndef REENACT_TOOLS_REENACT_RECORD_MCP_PASS_H_
#define REENACT_TOOLS_REENACT_RECORD_MCP_PASS_H_

#include "replayer/mcp/mcp_peer.h"
#include "tools/reenact/record/child_program.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {

// Runs the server, `context.command`, to its end, and returns its exit status. Takes standard input
// and output away from this process: it comes after all else that reads or prints there.
int PassBetweenClientAndServer(replayer::McpPeer* peer, const ForwardedSignals& signals,
                               const Context& context);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RECORD_MCP_PASS_H_
