#include "replayer/mcp/mcp_replay.h"

#include <cstdint>
#include <utility>
#include <variant>

#include "schema/dialect.h"
#include "schema/mcp_session.h"

namespace reenact::replayer {
namespace {

using schema::RpcKind;
using schema::RpcMessage;

// Of the range that JSON-RPC leaves to servers.
constexpr int kMissCode = -32001;

std::deque<std::string> LinesOf(const std::string& body) {
  std::deque<std::string> lines;
  schema::LineReader reader(body.size());
  const auto keep = [&](const schema::LineReader::Line& line) { lines.emplace_back(line.text); };
  reader.Append(body, keep);
  reader.Finish(keep);
  return lines;
}

}  // namespace

McpReplay::McpReplay(ReplaySession* session, std::string server)
    : session_(session), server_(std::move(server)) {}

McpReply McpReplay::Begin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  McpReply reply;
  SayUnsolicited(&reply);
  return reply;
}

McpReply McpReplay::FromClient(const schema::LineReader::Line& line) {
  if (line.size == 0) return {};
  const RpcMessage message = schema::ReadRpcMessage(line.text);
  const std::lock_guard<std::mutex> lock(mutex_);
  ++client_messages_;
  McpReply reply;
  Ask(message, schema::McpEventName(message, line.text), line.text, &reply);
  const bool answers = message.kind == RpcKind::kResult || message.kind == RpcKind::kError;
  if (const auto found = waiting_.find(message.id); answers && found != waiting_.end()) {
    Answer rest = std::move(found->second);
    waiting_.erase(found);
    Say(std::move(rest), &reply);
  }
  SayUnsolicited(&reply);
  return reply;
}

schema::BeginCall McpReplay::CallOf(std::string_view name, std::string_view request) const {
  schema::BeginCall call;
  call.run_token = kRunToken;
  call.scope = server_;
  call.boundary = schema::Boundary::kTool;
  call.name = name;
  call.provider = schema::kMcp;
  call.request = request;
  return call;
}

void McpReplay::Ask(const RpcMessage& message, std::string_view name, std::string_view request,
                    McpReply* reply) {
  const schema::Message got = session_->Answer(CallOf(name, request));
  if (const auto* diverged = std::get_if<schema::Diverged>(&got)) {
    return Miss(message, *diverged, reply);
  }
  const auto* on_tape = std::get_if<schema::OnTape>(&got);
  if (on_tape == nullptr) return;
  Answer answer;
  answer.lines = LinesOf(on_tape->body);
  answer.id = message.id;
  answer.progress_token = message.progress_token;
  answer.token = on_tape->call_token;
  answer.size = on_tape->body.size();
  answer.end = on_tape->end_state;
  answer.end_detail = on_tape->end_detail;
  Say(std::move(answer), reply);
}

void McpReplay::Miss(const RpcMessage& message, const schema::Diverged& diverged, McpReply* reply) {
  if (message.kind != RpcKind::kRequest) return;  // Nobody awaits an answer.
  const Divergence divergence = session_->DivergenceOf(diverged);
  reply->lines.push_back(schema::RpcError(
      message.id, kMissCode,
      "reenact: " + std::string(ToString(divergence.kind)) + ": " + MessageOf(divergence)));
}

void McpReplay::Say(Answer answer, McpReply* reply) {
  while (!answer.lines.empty()) {
    std::string line = std::move(answer.lines.front());
    answer.lines.pop_front();
    const RpcMessage message = schema::ReadRpcMessage(line);
    const bool is_answer = message.kind == RpcKind::kResult || message.kind == RpcKind::kError;
    // What was answered before the end was an answer to nobody.
    const bool ends = answer.lines.empty() && answer.end == schema::EndState::kComplete;
    if (is_answer && ends && !answer.id.empty() && message.id != answer.id) {
      line = schema::WithRpcId(line, answer.id);
    }
    if (message.kind == RpcKind::kNotification && !message.progress_token.empty() &&
        !answer.progress_token.empty()) {
      line = schema::WithProgressToken(line, answer.progress_token);
    }
    reply->lines.push_back(std::move(line));
    if (message.kind == RpcKind::kRequest && !answer.lines.empty()) {
      waiting_[message.id] = std::move(answer);
      return;
    }
  }
  if (answer.end == schema::EndState::kReset) {
    reply->server_gone = true;
    reply->server_end = answer.end_detail;
  }
  schema::EndCall end;
  end.run_token = kRunToken;
  end.call_token = answer.token;
  end.consumed_bytes = answer.size;
  // A client that did not wait for the answer will not now.
  if (answer.end == schema::EndState::kAbandonedByCaller) end.state = answer.end;
  session_->Answer(end);
}

void McpReplay::SayUnsolicited(McpReply* reply) {
  const std::string request = schema::McpServerMessageRequest(client_messages_);
  const schema::BeginCall call = CallOf(schema::kMcpServerMessage, request);
  const ForkPoint whole_tape{.step = SIZE_MAX};
  while (session_->SourceOf(call, whole_tape) == AnswerSource::kTape) {
    Ask({}, schema::kMcpServerMessage, request, reply);
  }
}

}  // namespace reenact::replayer
