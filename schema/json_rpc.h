// Messages of JSON-RPC 2.0 as MCP sends them over standard input and output: one a line. Pure, over
// the bytes of strangers: a line may be no message, and may be as long as it likes.

#ifndef REENACT_SCHEMA_JSON_RPC_H_
#define REENACT_SCHEMA_JSON_RPC_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace reenact::schema {

// Cuts a stream into lines. Memory is bounded: of a line that is longer than the limit the
// beginning is kept.
class LineReader {
 public:
  struct Line {
    std::string_view text;  // Without its end, "\n" or "\r\n".
    uint64_t size = 0;      // Of the whole line; more than `text` has when it was cut.

    bool is_cut() const { return size > text.size(); }
  };

  using Sink = std::function<void(const Line&)>;

  explicit LineReader(size_t limit) : limit_(limit) {}

  // Hands out each line that ends in `bytes`. Cuts of the stream make no difference.
  void Append(std::string_view bytes, const Sink& sink);
  // The stream has ended: what had no end of line is a line too.
  void Finish(const Sink& sink);

 private:
  void Keep(std::string_view bytes);
  void HandOut(const Sink& sink);

  const size_t limit_;
  std::string kept_;
  uint64_t size_ = 0;
  bool ends_in_return_ = false;  // Of what came so far of the line.
};

enum class RpcKind : uint8_t {
  kOther,  // No JSON, no message, or a batch of them.
  kRequest,
  kNotification,
  kResult,
  kError,
};

struct RpcMessage {
  RpcKind kind = RpcKind::kOther;
  std::string id;              // As JSON: "7", "\"a\"". Empty where there is none.
  std::string method;          // Requests and notifications.
  std::string progress_token;  // As JSON: that a request asks to be told under, or of the progress.
  std::string cancelled;       // As JSON: the id of the request that notifications/cancelled names.
  bool is_tool_error = false;  // A result that says "isError": the tool failed, not the protocol.
};

RpcMessage ReadRpcMessage(std::string_view line);

// The message with another id, or with another progress token: answers from a tape go to requests
// that count anew. `json` is the id or token as JSON.
std::string WithRpcId(std::string_view line, std::string_view json);
std::string WithProgressToken(std::string_view line, std::string_view json);

// {"jsonrpc":"2.0","id":ID,"error":{"code":CODE,"message":MESSAGE}}. `id` as JSON.
std::string RpcError(std::string_view id, int code, std::string_view message);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_JSON_RPC_H_
