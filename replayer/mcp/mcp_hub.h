// Where the `reenact mcp` processes of a recorded or replayed program find the run that they belong
// to: a Unix socket of this user's, one connection a session, one McpPeer behind each.

#ifndef REENACT_REPLAYER_MCP_MCP_HUB_H_
#define REENACT_REPLAYER_MCP_MCP_HUB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/mcp/mcp_peer.h"

namespace reenact::replayer {

// The environment variable that holds the path of the socket.
inline constexpr char kMcpSocketVariable[] = "REENACT_MCP_SOCKET";

struct McpSession {
  std::string server;                // What it is called: a scope of the run.
  std::vector<std::string> secrets;  // Credentials in the environment of the server.
};

class McpHub {
 public:
  // Called on a thread of the hub; what it returns lives as long as the session.
  using MakePeer = std::function<std::unique_ptr<McpPeer>(const McpSession& session)>;

  // `path`: in a folder that only this user can enter. Errors: Unavailable.
  static absl::StatusOr<std::unique_ptr<McpHub>> Start(const std::string& path, MakePeer make_peer);
  ~McpHub();  // Ends the sessions: what they sent is taken in first.
  // Waits until every session has ended by itself, or `grace_ms` passed: they may outlive the
  // program that started them by a little.
  void Drain(int64_t grace_ms);

 private:
  struct Impl;
  McpHub();
  std::unique_ptr<Impl> impl_;
};

// The other end. Errors: Unavailable, when there is no hub. Of a hub that goes away later nothing
// is told: a recording goes on without it, and a replay has no more answers (server_gone).
absl::StatusOr<std::unique_ptr<McpPeer>> JoinMcpHub(const std::string& path,
                                                    const McpSession& session);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_MCP_MCP_HUB_H_
