// A session of MCP from its tape: every line of the client is matched with what was recorded, and
// answered with what the server said then, under the ids of now. A miss is an error of JSON-RPC
// that says what differs.
//
// Where the server had asked the client something, the rest of its answer waits for the client's.

#ifndef REENACT_REPLAYER_MCP_MCP_REPLAY_H_
#define REENACT_REPLAYER_MCP_MCP_REPLAY_H_

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "replayer/mcp/mcp_peer.h"
#include "replayer/replay_session.h"

namespace reenact::replayer {

// Threads: all functions may be called from any thread.
class McpReplay final : public McpPeer {
 public:
  // `session` outlives it, and its run has begun. `server`: the name under which it was recorded.
  McpReplay(ReplaySession* session, std::string server);

  bool replays() const override { return true; }

  McpReply Begin() override;
  McpReply FromClient(const schema::LineReader::Line& line) override;

  void FromServer(const schema::LineReader::Line&) override {}

  void ServerEnded(std::string_view) override {}

  void ClientEnded() override {}

 private:
  // What is still to be said of a recorded answer.
  struct Answer {
    std::deque<std::string> lines;
    std::string id;              // Of the request of now, as JSON.
    std::string progress_token;  // The same.
    uint64_t token = 0;          // Of the session's call.
    uint64_t size = 0;
    schema::EndState end = schema::EndState::kComplete;  // As it was recorded.
    std::string end_detail;
  };

  schema::BeginCall CallOf(std::string_view name, std::string_view request) const;
  void Ask(const schema::RpcMessage& message, std::string_view name, std::string_view request,
           McpReply* reply);
  void Miss(const schema::RpcMessage& message, const schema::Diverged& diverged, McpReply* reply);
  // Says as much as can be said now.
  void Say(Answer answer, McpReply* reply);
  void SayUnsolicited(McpReply* reply);

  ReplaySession* const session_;
  const std::string server_;
  std::mutex mutex_;                       // Guards all that follows.
  std::map<std::string, Answer> waiting_;  // By the id of the server's own request.
  uint64_t client_messages_ = 0;
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_MCP_MCP_REPLAY_H_
