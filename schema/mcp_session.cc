#include "schema/mcp_session.h"

#include "schema/dialect.h"

namespace reenact::schema {

std::string McpEventName(const RpcMessage& message, std::string_view line) {
  switch (message.kind) {
    case RpcKind::kRequest:
    case RpcKind::kNotification:
      return ClassifyCall({.method = "POST", .target = "/", .body = line}).name;
    case RpcKind::kResult:
    case RpcKind::kError:
      return "answer";
    case RpcKind::kOther:
      break;
  }
  return "malformed";
}

std::string McpServerMessageRequest(uint64_t client_messages) {
  return R"({"after_client_messages":)" + std::to_string(client_messages) + "}";
}

}  // namespace reenact::schema
