#include "recorder/proxy/mcp_recording.h"

#include <algorithm>
#include <utility>

#include "reenact/internal/c_values.hpp"
#include "reenact/reenact.h"
#include "schema/dialect.h"
#include "schema/mcp_session.h"

namespace reenact::proxy {
namespace {

using schema::LineReader;
using schema::RpcKind;
using schema::RpcMessage;

Tags FactsOf(const LineReader::Line& line) {
  if (!line.is_cut()) return {};
  return {{"line_bytes", std::to_string(line.size)}};
}

// How an answer that fails does so: the tool, or the protocol.
void AddFailure(const RpcMessage& answer, Tags* facts) {
  if (answer.kind == RpcKind::kError) facts->emplace_back("mcp_error", "protocol");
  if (answer.is_tool_error) facts->emplace_back("mcp_error", "tool");
}

bool IsAnswer(const RpcMessage& message) {
  return message.kind == RpcKind::kResult || message.kind == RpcKind::kError;
}

}  // namespace

McpRecording::McpRecording(Run* run, std::string_view server, std::vector<std::string> secrets)
    : secrets_(std::move(secrets)) {
  reenact_scope_begin(run->handle(), internal::Bytes(server), &scope_);
}

McpRecording::~McpRecording() {
  ClientEnded();
  reenact_scope_end(scope_);
}

reenact_call* McpRecording::Begin(std::string_view name, std::string_view request) {
  // The recorder learns what headers of this name carry; there is no other way to tell it later.
  Tags headers;
  for (const std::string& secret : secrets_) headers.emplace_back("x-api-key", secret);
  const std::vector<reenact_pair> pairs = internal::Pairs(headers);
  auto info = internal::Sized<reenact_call_info>();
  info.boundary = REENACT_TOOL;
  info.name = internal::Bytes(name);
  info.provider = internal::Bytes(schema::kMcp);
  info.request = internal::Bytes(request);
  info.headers = pairs.data();
  info.header_count = pairs.size();
  reenact_call* call = nullptr;
  reenact_call_begin(scope_, &info, &call);
  return call;
}

void McpRecording::End(reenact_call* call, EndState state, std::string_view detail,
                       const Tags& facts) {
  const std::vector<reenact_pair> pairs = internal::Pairs(facts);
  auto meta = internal::Sized<reenact_call_meta>();
  meta.detail = internal::Bytes(detail);
  meta.facts = pairs.data();
  meta.fact_count = pairs.size();
  reenact_call_end(call, static_cast<int32_t>(state), &meta);
}

void McpRecording::AddLine(reenact_call* call, const LineReader::Line& line) {
  reenact_call_chunk(call, internal::Bytes(std::string(line.text) + '\n'));
}

void McpRecording::FromClient(const LineReader::Line& line) {
  if (line.size == 0) return;
  const RpcMessage message = schema::ReadRpcMessage(line.text);
  const std::lock_guard<std::mutex> lock(mutex_);
  ++client_messages_;
  reenact_call* const call = Begin(schema::McpEventName(message, line.text), line.text);
  if (message.kind == RpcKind::kRequest) {
    open_.push_back({call, message.id, message.progress_token});
    return;
  }
  for (OpenCall& open : open_) {
    if (!message.cancelled.empty() && open.id == message.cancelled) open.cancelled = true;
  }
  End(call, line.is_cut() ? EndState::kTruncatedByLimit : EndState::kComplete, "", FactsOf(line));
}

// The request that a line of the server belongs to. Of a line that was cut, the id may be lost:
// what was asked last is the best guess there is, as it is for messages that name no request.
McpRecording::Calls::iterator McpRecording::CallOf(const RpcMessage& message, bool is_cut) {
  if (open_.empty()) return open_.end();
  const auto latest = std::prev(open_.end());
  if (is_cut) return latest;
  if (IsAnswer(message)) {
    const auto asked = std::find_if(open_.begin(), open_.end(),
                                    [&](const OpenCall& open) { return open.id == message.id; });
    // An answer to nobody stands where it came; without an id it is to what was no message.
    const bool has_id = !message.id.empty() && message.id != "null";
    return asked == open_.end() && has_id ? latest : asked;
  }
  const auto progressing = std::find_if(open_.begin(), open_.end(), [&](const OpenCall& open) {
    return !message.progress_token.empty() && open.progress_token == message.progress_token;
  });
  return progressing != open_.end() ? progressing : latest;
}

void McpRecording::FromServer(const LineReader::Line& line) {
  if (line.size == 0) return;
  const RpcMessage message = schema::ReadRpcMessage(line.text);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto open = CallOf(message, line.is_cut());
  if (open == open_.end()) return AddUnsolicited(line);
  AddLine(open->call, line);
  if (!line.is_cut() && (!IsAnswer(message) || message.id != open->id)) return;
  Tags facts = FactsOf(line);
  AddFailure(message, &facts);
  if (open->cancelled) facts.emplace_back("cancelled", "answered all the same");
  End(open->call, line.is_cut() ? EndState::kTruncatedByLimit : EndState::kComplete, "", facts);
  open_.erase(open);
}

void McpRecording::AddUnsolicited(const LineReader::Line& line) {
  reenact_call* const call =
      Begin(schema::kMcpServerMessage, schema::McpServerMessageRequest(client_messages_));
  AddLine(call, line);
  End(call, line.is_cut() ? EndState::kTruncatedByLimit : EndState::kComplete, "", FactsOf(line));
}

void McpRecording::EndAll(EndState state, std::string_view detail) {
  for (const OpenCall& open : std::exchange(open_, {})) {
    if (open.cancelled) {
      End(open.call, EndState::kAbandonedByCaller, "cancelled", {});
    } else {
      End(open.call, state, detail, {});
    }
  }
}

void McpRecording::ServerEnded(std::string_view detail) {
  const std::lock_guard<std::mutex> lock(mutex_);
  EndAll(EndState::kReset, "the server ended: " + std::string(detail));
}

void McpRecording::ClientEnded() {
  const std::lock_guard<std::mutex> lock(mutex_);
  EndAll(EndState::kAbandonedByCaller, "the client went away");
}

}  // namespace reenact::proxy
