// Lines of JSON-RPC as a stranger writes them: the same lines wherever the stream is cut, no byte
// lost, and a message whose id was changed is the same message.

#include <string>
#include <vector>

#include "schema/json_rpc.h"
#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz::json_rpc {
namespace {

struct Lines {
  std::vector<std::string> texts;
  std::vector<uint64_t> sizes;

  bool operator==(const Lines&) const = default;
};

Lines ReadCut(std::string_view bytes, size_t piece, size_t limit) {
  Lines lines;
  const auto keep = [&](const schema::LineReader::Line& line) {
    lines.texts.emplace_back(line.text);
    lines.sizes.push_back(line.size);
  };
  schema::LineReader reader(limit);
  for (size_t at = 0; at < bytes.size(); at += piece) reader.Append(bytes.substr(at, piece), keep);
  reader.Finish(keep);
  return lines;
}

void CheckMessage(const std::string& line) {
  const schema::RpcMessage message = schema::ReadRpcMessage(line);
  if (message.kind == schema::RpcKind::kOther || message.id.empty()) return;
  Reached();
  const schema::RpcMessage other = schema::ReadRpcMessage(schema::WithRpcId(line, "\"other\""));
  if (other.kind != message.kind || other.method != message.method) {
    Broken("another id made another message: " + line);
  }
  if (other.id != "\"other\"") Broken("the id was not changed: " + line);
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  const Lines whole = ReadCut(bytes, bytes.size() + 1, bytes.size());
  uint64_t total = 0;
  for (size_t i = 0; i < whole.texts.size(); ++i) {
    if (whole.texts[i].size() != whole.sizes[i]) Broken("a line was cut below the limit");
    total += whole.sizes[i];
    CheckMessage(whole.texts[i]);
  }
  for (const char c : bytes) total += c == '\n' || c == '\r' ? 1 : 0;
  if (total < bytes.size()) Broken("a byte was lost");
  for (const size_t piece : {size_t{1}, size_t{7}}) {
    if (ReadCut(bytes, piece, bytes.size()) != whole) Broken("the cut of the stream shows");
  }
  const Lines limited = ReadCut(bytes, 5, 8);
  if (limited.sizes != whole.sizes) Broken("a limit changed the size of a line");
  for (size_t i = 0; i < limited.texts.size() && i < whole.texts.size(); ++i) {
    if (limited.texts[i].size() > 8) Broken("more than the limit was kept");
    if (!whole.texts[i].starts_with(limited.texts[i])) Broken("what was kept is no beginning");
  }
}

std::vector<std::string> Seeds() {
  return {
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"w\","
      "\"_meta\":{\"progressToken\":\"t\"}}}\n",
      "{\"result\":{\"content\":[],\"isError\":true},\"jsonrpc\":\"2.0\",\"id\":\"a\"}\r\n\n",
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n"
      "no JSON\n[{\"id\":1}]",
      "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}\n"};
}

std::vector<std::string> Tokens() {
  return {"\n",          "\r\n",         "\r",          "\"id\":",     "\"method\":", "\"result\":",
          "\"error\":{", "\"params\":{", "\"_meta\":{", "\"jsonrpc\"", "null",        "{",
          "}",           "\"",           "\\",          "1e400"};
}

const bool added = AddTarget({"json_rpc", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::json_rpc
