#include "schema/json_rpc.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schema/mcp_session.h"
#include "schema/unobserved.h"

namespace reenact::schema {
namespace {

std::vector<std::string> Read(std::string_view bytes, size_t piece, size_t limit = 1000) {
  std::vector<std::string> lines;
  const auto keep = [&](const LineReader::Line& line) {
    lines.push_back(std::string(line.text) +
                    (line.is_cut() ? "... of " + std::to_string(line.size) : ""));
  };
  LineReader reader(limit);
  for (size_t at = 0; at < bytes.size(); at += piece) reader.Append(bytes.substr(at, piece), keep);
  reader.Finish(keep);
  return lines;
}

TEST(LineReader, LinesAreTheSameWhereverTheStreamIsCut) {
  const std::string bytes = "one\ntwo\r\n\nthree\rfour\nend";
  const std::vector<std::string> lines = {"one", "two", "", "three\rfour", "end"};
  for (size_t piece = 1; piece <= bytes.size(); ++piece) EXPECT_EQ(Read(bytes, piece), lines);
}

TEST(LineReader, OfALongLineTheBeginningIsKept) {
  const std::string bytes = std::string(100'000, 'x') + "\nshort\n";
  for (const size_t piece : {size_t{1}, size_t{4096}, bytes.size()}) {
    EXPECT_EQ(Read(bytes, piece, 5), (std::vector<std::string>{"xxxxx... of 100000", "short"}));
  }
}

TEST(RpcMessage, IsTheKindThatItsMembersSay) {
  const auto kind = [](std::string_view line) { return ReadRpcMessage(line).kind; };
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), RpcKind::kRequest);
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"),
            RpcKind::kNotification);
  EXPECT_EQ(kind(R"({"result":{},"jsonrpc":"2.0","id":"a"})"), RpcKind::kResult);
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700}})"), RpcKind::kError);
  for (const char* line : {"", "starting up", "[]", "{}", "3", R"({"id":1})", R"({"method":3})",
                           R"([{"jsonrpc":"2.0","id":1,"method":"m"}])"}) {
    EXPECT_EQ(kind(line), RpcKind::kOther) << line;
  }
}

TEST(RpcMessage, TellsWhatBelongsTogether) {
  const RpcMessage call = ReadRpcMessage(
      R"({"id":"7","method":"tools/call","params":{"name":"w","_meta":{"progressToken":3}}})");
  EXPECT_EQ(call.id, "\"7\"");
  EXPECT_EQ(call.progress_token, "3");
  const RpcMessage progress = ReadRpcMessage(
      R"({"method":"notifications/progress","params":{"progressToken":3,"progress":1}})");
  EXPECT_EQ(progress.progress_token, call.progress_token);
  EXPECT_EQ(ReadRpcMessage(R"({"method":"notifications/cancelled","params":{"requestId":"7"}})")
                .cancelled,
            call.id);
  EXPECT_TRUE(ReadRpcMessage(R"({"id":1,"result":{"isError":true}})").is_tool_error);
  EXPECT_FALSE(ReadRpcMessage(R"({"id":1,"result":{"isError":false}})").is_tool_error);
}

TEST(RpcMessage, AnswersGoToOtherIds) {
  EXPECT_EQ(WithRpcId(R"({"result":{"id":1},"jsonrpc":"2.0","id":1})", "\"b\""),
            R"({"result":{"id":1},"jsonrpc":"2.0","id":"b"})");
  EXPECT_EQ(WithProgressToken(R"({"method":"n","params":{"progressToken":1}})", "9"),
            R"({"method":"n","params":{"progressToken":9}})");
  EXPECT_EQ(RpcError("7", -32001, "no \"record\""),
            R"({"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"no \"record\""}})");
  EXPECT_EQ(ReadRpcMessage(RpcError("", -1, "")).kind, RpcKind::kError);
}

TEST(McpSession, EventsAreCalledAsOverHttp) {
  const auto name = [](std::string_view line) { return McpEventName(ReadRpcMessage(line), line); };
  EXPECT_EQ(name(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"w"}})"), "w");
  EXPECT_EQ(name(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), "tools/list");
  EXPECT_EQ(name(R"({"jsonrpc":"2.0","id":1,"result":{}})"), "answer");
  EXPECT_EQ(name("starting up"), "malformed");
}

TEST(Unobserved, IsReadAsItWasWrittenWhateverTheOrder) {
  RecordedRun run;
  EXPECT_EQ(UnobservedOf(run), std::nullopt);
  run.components.push_back(ToComponent({.peers = {"b:1", "a:1", "b:1"}, .names = {"odd\"name"}}));
  const Unobserved expected{.peers = {"a:1", "b:1"}, .names = {"odd\"name"}};
  EXPECT_EQ(UnobservedOf(run), expected);
  EXPECT_EQ(ToComponent({.peers = {"a:1", "b:1"}, .names = {"odd\"name"}}).content.bytes,
            run.components[0].content.bytes);
}

}  // namespace
}  // namespace reenact::schema
