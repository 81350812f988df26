#include "schema/json_rpc.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "schema/json_view.h"
#include "schema/request_edit.h"

namespace reenact::schema {
namespace {

constexpr char kCancelled[] = "notifications/cancelled";

std::string RawOf(const JsonValue& value) {
  const bool names = value.is_string() || value.is_number();
  return names ? std::string(value.raw()) : std::string();
}

RpcKind KindOf(const JsonValue& message) {
  // null: the answer to a request whose id could not be read.
  const bool has_id = message["id"].is_present();
  if (message["method"].is_string()) return has_id ? RpcKind::kRequest : RpcKind::kNotification;
  if (!has_id) return RpcKind::kOther;
  if (message["result"].is_present()) return RpcKind::kResult;
  return message["error"].is_object() ? RpcKind::kError : RpcKind::kOther;
}

std::string WithMember(std::string_view line, std::string path, std::string_view json) {
  RequestEdit edit{.path = std::move(path), .value = std::string(json)};
  std::optional<std::string> edited = ApplyEdit(line, &edit);
  return edited ? *std::move(edited) : std::string(line);
}

}  // namespace

void LineReader::Append(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    Keep(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    HandOut(sink);
    bytes.remove_prefix(end + 1);
  }
}

void LineReader::Finish(const Sink& sink) {
  if (size_ > 0) HandOut(sink);
}

void LineReader::Keep(std::string_view bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  kept_ += bytes.substr(0, limit_ - std::min(limit_, kept_.size()));
  ends_in_return_ = bytes.back() == '\r';
}

void LineReader::HandOut(const Sink& sink) {
  if (ends_in_return_) {
    if (kept_.size() == size_) kept_.pop_back();
    --size_;
  }
  sink({kept_, size_});
  // A long line does not keep its room.
  constexpr size_t kKeptRoom = 64 << 10;
  if (kept_.capacity() > kKeptRoom) kept_ = {};
  kept_.clear();
  size_ = 0;
  ends_in_return_ = false;
}

RpcMessage ReadRpcMessage(std::string_view line) {
  RpcMessage message;
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(line);
  if (!document || !document->root().is_object()) return message;
  const JsonValue root = document->root();
  message.kind = KindOf(root);
  message.id = RawOf(root["id"]);
  message.method = root["method"].AsString();
  const JsonValue params = root["params"];
  message.progress_token = RawOf(params["progressToken"]);
  if (message.kind == RpcKind::kRequest) {
    message.progress_token = RawOf(params["_meta"]["progressToken"]);
  }
  if (message.method == kCancelled) message.cancelled = RawOf(params["requestId"]);
  message.is_tool_error = root["result"]["isError"].AsBool();
  return message;
}

std::string WithRpcId(std::string_view line, std::string_view json) {
  return WithMember(line, "id", json);
}

std::string WithProgressToken(std::string_view line, std::string_view json) {
  return WithMember(line, "params.progressToken", json);
}

std::string RpcError(std::string_view id, int code, std::string_view message) {
  std::string error = R"({"jsonrpc":"2.0","id":null,"error":{"code":0,"message":""}})";
  error = WithMember(error, "id", id.empty() ? "null" : id);
  error = WithMember(error, "error.code", std::to_string(code));
  return WithMember(error, "error.message", QuotedJson(message));
}

}  // namespace reenact::schema
