// How a session of MCP over standard input and output is recorded: what recorder and replayer must
// agree on. Each line of the client is an event of boundary tool and provider kMcp; what the server
// says until it has answered is the event's response, a line a read.

#ifndef REENACT_SCHEMA_MCP_SESSION_H_
#define REENACT_SCHEMA_MCP_SESSION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/json_rpc.h"

namespace reenact::schema {

// Lines are kept up to this size; longer ones pass, and are marked as cut.
inline constexpr size_t kMcpLineLimit = size_t{64} << 20;

// The name of the event of a client's line: the tool's for tools/call, else the method; "answer"
// for the answer to a request of the server; "malformed" for what is no message.
std::string McpEventName(const RpcMessage& message, std::string_view line);

// What the server says while no request waits for it is an event of its own, of this name. Its
// request is made up: after how many messages of the client it came.
inline constexpr std::string_view kMcpServerMessage = "server message";
std::string McpServerMessageRequest(uint64_t client_messages);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_MCP_SESSION_H_
