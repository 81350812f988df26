// A session of MCP over standard input and output, line by line, as events of a run; see
// schema/mcp_session.h. Lines pass elsewhere: nothing here delays or changes one.
//
// Requests, results, errors, progress and notifications are all kept, and so is what is no message.
// A request that stays without an answer says why: cancelled, or whose end came first.

#ifndef REENACT_RECORDER_PROXY_MCP_RECORDING_H_
#define REENACT_RECORDER_PROXY_MCP_RECORDING_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "reenact/reenact.hpp"
#include "schema/json_rpc.h"

namespace reenact::proxy {

// Threads: all functions may be called from any thread.
class McpRecording {
 public:
  // `server`: what the session is called, a scope of the run; no '/'. `secrets`: values that the
  // server was given and that no record may hold. The run outlives the recording.
  McpRecording(Run* run, std::string_view server, std::vector<std::string> secrets);
  ~McpRecording();  // ClientEnded, and closes the scope.
  McpRecording(const McpRecording&) = delete;
  McpRecording& operator=(const McpRecording&) = delete;

  // Before the line is passed on, so that no answer comes first.
  void FromClient(const schema::LineReader::Line& line);
  void FromServer(const schema::LineReader::Line& line);
  void ServerEnded(std::string_view detail);  // "exit status 1"
  void ClientEnded();

 private:
  struct OpenCall {
    reenact_call* call = nullptr;
    std::string id;
    std::string progress_token;
    bool cancelled = false;
  };

  using Calls = std::vector<OpenCall>;

  reenact_call* Begin(std::string_view name, std::string_view request);
  void End(reenact_call* call, EndState state, std::string_view detail, const Tags& facts);
  void AddLine(reenact_call* call, const schema::LineReader::Line& line);
  Calls::iterator CallOf(const schema::RpcMessage& message, bool is_cut);
  void AddUnsolicited(const schema::LineReader::Line& line);
  void EndAll(EndState state, std::string_view detail);

  std::mutex mutex_;  // Guards all that follows.
  reenact_scope* scope_ = nullptr;
  const std::vector<std::string> secrets_;
  Calls open_;  // In order of beginning.
  uint64_t client_messages_ = 0;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_MCP_RECORDING_H_
