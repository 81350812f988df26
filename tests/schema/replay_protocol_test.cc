#include "schema/replay_protocol.h"

#include <gtest/gtest.h>

namespace reenact::schema {
namespace {

constexpr size_t kLengthSize = 4;

std::string_view WithoutLength(std::string_view frame) {
  return frame.substr(kLengthSize);
}

// One of each message, no field left at its default.
std::vector<Message> AllMessages() {
  Component component;
  component.kind = "prompt_template";
  component.name = "refund";
  component.version = "v14";
  component.content.bytes = std::string("a\0b", 3);
  const Exchange exchange = {
      {.kind = ExchangeItemKind::kHead, .offset_ns = 5, .status = 200, .headers = {{"a", "b"}}},
      {.kind = ExchangeItemKind::kBytes, .offset_ns = 9, .size = 3}};
  return {Hello{7, -1, "refund-agent"},
          BeginRun{"POST /refund", "{}", {component, component}},
          BeginCall{1, "turn-2/call_a7", Boundary::kTool, "lookup", "openai", "http://x", "{}"},
          EndCall{1, 2, EndState::kAbandonedByCaller, 77},
          ReadValue{1, "s", Boundary::kRandom, "draw"},
          AddComponent{9, component},
          UseComponent{9, "refund"},
          FinishRun{1, EndState::kError, "threw", "out"},
          AwaitDrive{"POST /refund"},
          HandlerDone{"POST /refund"},
          Welcome{1, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "main"},
          RunBound{3},
          OnTape{4, exchange, "abc", EndState::kTruncated, "eof"},
          Value{~uint64_t{0}},
          ComponentContent{true, "text"},
          Diverged{"no such call", 12},
          Drive{"{}"},
          Done{}};
}

TEST(ReplayProtocol, EveryMessageRoundTrips) {
  const std::vector<Message> messages = AllMessages();
  ASSERT_EQ(messages.size(), std::variant_size_v<Message>);
  for (size_t i = 0; i < messages.size(); ++i) {
    ASSERT_EQ(messages[i].index(), i);
    const std::string frame = EncodeMessage(messages[i]);
    const std::optional<Message> decoded = DecodeMessage(WithoutLength(frame));
    ASSERT_TRUE(decoded) << i;
    ASSERT_EQ(decoded->index(), i);
    EXPECT_EQ(EncodeMessage(*decoded), frame) << i;
  }
}

TEST(ReplayProtocol, LengthCountsWhatFollowsIt) {
  const std::string frame = EncodeMessage(AwaitDrive{std::string(300, 'x')});
  size_t length = 0;
  for (size_t i = 0; i < kLengthSize; ++i) {
    length |= static_cast<size_t>(static_cast<uint8_t>(frame[i])) << (8 * i);
  }
  EXPECT_EQ(length, frame.size() - kLengthSize);
}

TEST(ReplayProtocol, FieldsArriveInTheirPlaces) {
  const std::string frame = EncodeMessage(AllMessages()[12]);
  const std::optional<Message> decoded = DecodeMessage(WithoutLength(frame));
  ASSERT_TRUE(decoded);
  const auto& tape = std::get<OnTape>(*decoded);
  EXPECT_EQ(tape.call_token, 4u);
  ASSERT_EQ(tape.exchange.size(), 2u);
  EXPECT_EQ(tape.exchange[0].headers[0].second, "b");
  EXPECT_EQ(tape.body, "abc");
  EXPECT_EQ(tape.end_state, EndState::kTruncated);
  EXPECT_EQ(tape.end_detail, "eof");
}

TEST(ReplayProtocol, MalformedFramesAreRefused) {
  EXPECT_FALSE(DecodeMessage(""));
  EXPECT_FALSE(DecodeMessage(std::string_view("\0", 1)));
  EXPECT_FALSE(DecodeMessage("\x7f"));
  for (const Message& message : AllMessages()) {
    const std::string frame = EncodeMessage(message);
    const std::string_view body = WithoutLength(frame);
    for (size_t size = 1; size < body.size(); ++size) {
      EXPECT_FALSE(DecodeMessage(body.substr(0, size))) << message.index() << " cut at " << size;
    }
    EXPECT_FALSE(DecodeMessage(std::string(body) + 'x')) << message.index();
  }
}

TEST(ReplayProtocol, CodesBeyondTheListAreRefused) {
  // EndCall{run_token 1, call_token 2, state, consumed 0}
  const auto end_call = [](char state) { return std::string{'\x04', '\x01', '\x02', state, '\0'}; };
  EXPECT_TRUE(DecodeMessage(end_call(8)));
  EXPECT_FALSE(DecodeMessage(end_call(0)));
  EXPECT_FALSE(DecodeMessage(end_call(9)));
}

}  // namespace
}  // namespace reenact::schema
