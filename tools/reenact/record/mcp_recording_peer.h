// A session of MCP that is recorded into a run.

#ifndef REENACT_TOOLS_REENACT_RECORD_MCP_RECORDING_PEER_H_
#define REENACT_TOOLS_REENACT_RECORD_MCP_RECORDING_PEER_H_

#include "recorder/proxy/mcp_recording.h"
#include "replayer/mcp/mcp_hub.h"
#include "replayer/mcp/mcp_peer.h"

namespace reenact::tools {

class McpRecordingPeer final : public replayer::McpPeer {
 public:
  McpRecordingPeer(Run* run, const replayer::McpSession& session)
      : recording_(run, session.server, session.secrets) {}

  bool replays() const override { return false; }

  replayer::McpReply Begin() override { return {}; }

  replayer::McpReply FromClient(const schema::LineReader::Line& line) override {
    recording_.FromClient(line);
    return {};
  }

  void FromServer(const schema::LineReader::Line& line) override { recording_.FromServer(line); }

  void ServerEnded(std::string_view detail) override { recording_.ServerEnded(detail); }

  void ClientEnded() override { recording_.ClientEnded(); }

 private:
  proxy::McpRecording recording_;
};

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RECORD_MCP_RECORDING_PEER_H_
