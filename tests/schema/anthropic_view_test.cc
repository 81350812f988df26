// What a message of Anthropic's says: blocks, totals, and streams that end otherwise.

#include <gtest/gtest.h>

#include <string>

#include "tests/schema/dialect_samples.h"

namespace reenact::schema {
namespace {

const DialectSample& StreamedMessage() {
  return SampleNamed("message_stream");
}

std::string Start(std::string_view usage = R"({"input_tokens":25,"output_tokens":1})") {
  return TypedEvent("message_start",
                    R"("message":{"id":"m","model":"claude-opus-5","content":[],"usage":)" +
                        std::string(usage) + "}");
}

std::string Block(std::string_view block, std::string_view deltas) {
  std::string events =
      TypedEvent("content_block_start", R"("index":0,"content_block":)" + std::string(block));
  events += deltas;
  return events + TypedEvent("content_block_stop", R"("index":0)");
}

std::string Delta(std::string_view delta) {
  return TypedEvent("content_block_delta", R"("index":0,"delta":)" + std::string(delta));
}

std::string Text(std::string_view text) {
  return Block(R"({"type":"text","text":""})",
               Delta(R"({"type":"text_delta","text":")" + std::string(text) + "\"}"));
}

std::string End(std::string_view reason, std::string_view usage = R"({"output_tokens":15})") {
  return TypedEvent("message_delta", R"("delta":{"stop_reason":")" + std::string(reason) +
                                         R"("},"usage":)" + std::string(usage));
}

const std::string kStop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

TEST(AnthropicView, BlocksBecomeOneChoice) {
  const ModelView view = View(SampleNamed("message"));
  ASSERT_EQ(view.choices.size(), 1u);
  const Choice& choice = view.choices[0];
  EXPECT_EQ(choice.content, "Let me see.");
  EXPECT_EQ(choice.reasoning, "Look it up.");
  EXPECT_EQ(choice.sealed_reasoning, (std::vector<std::string>{"ErUB", "EmwK"}));
  ASSERT_EQ(choice.tool_calls.size(), 1u);
  EXPECT_EQ(choice.tool_calls[0].id, "toolu_1");
  EXPECT_EQ(choice.tool_calls[0].name, "weather");
  EXPECT_EQ(choice.tool_calls[0].arguments, R"({"city":"Oslo"})");
  EXPECT_EQ(choice.finish_reason, "tool_use");
  EXPECT_EQ(view.served_model, "claude-opus-5");
  EXPECT_EQ(view.response_id, "msg_1");
  EXPECT_EQ(view.service_tier, "standard");
  // There is none in this dialect, which is not a null one.
  EXPECT_EQ(view.fingerprint_presence, Presence::kAbsent);
}

TEST(AnthropicView, WholeInputIsCountedAsOpenAiCountsIt) {
  const Usage usage = View(StreamedMessage()).usage;
  EXPECT_EQ(usage.prompt_tokens, 135);  // 25 from no cache, 10 into it, 100 out of it.
  EXPECT_EQ(usage.cached_tokens, 100);
  EXPECT_EQ(usage.cache_write_tokens, 10);
  EXPECT_EQ(usage.completion_tokens, 15);
  EXPECT_EQ(usage.reasoning_tokens, 6);
  EXPECT_EQ(usage.total_tokens, std::nullopt);
}

TEST(AnthropicView, UsageIsARunningTotal) {
  const ModelView view = ViewWith(
      StreamedMessage(), Start() + Text("a") + End("end_turn", R"({"output_tokens":7})") +
                             End("end_turn", R"({"input_tokens":30,"output_tokens":15})") + kStop);
  EXPECT_EQ(view.usage.prompt_tokens, 30);
  EXPECT_EQ(view.usage.completion_tokens, 15);
  EXPECT_EQ(view.usage.cached_tokens, std::nullopt);
}

TEST(AnthropicView, RequestIsReadAsMessages) {
  const ModelView view = View(StreamedMessage());
  ASSERT_EQ(view.messages.size(), 5u);
  EXPECT_EQ(view.messages[0].role, "system");
  EXPECT_EQ(view.messages[0].text, "Be brief.");
  EXPECT_EQ(view.messages[2].tool_calls[0].arguments, R"({"who":"me"})");
  EXPECT_EQ(view.messages[3].tool_call_id, "toolu_0");
  EXPECT_EQ(view.messages[3].text, "Oslo");
  EXPECT_EQ(view.messages[4].text, "Well?");
  EXPECT_TRUE(view.stream);
}

TEST(AnthropicView, ToolInputWithoutDeltasIsTheEmptyObject) {
  const std::string block = Block(R"({"type":"tool_use","id":"t","name":"now","input":{}})", "");
  const ModelView view = ViewWith(StreamedMessage(), Start() + block + End("tool_use") + kStop);
  EXPECT_EQ(view.choices[0].tool_calls[0].arguments, "{}");
  EXPECT_EQ(view.choices[0].content, std::nullopt);
  EXPECT_TRUE(view.anomalies.empty());
}

// Fine-grained tool streaming may stop inside the input.
TEST(AnthropicView, InputThatIsNoJsonIsKeptAndNamed) {
  const std::string block =
      Block(R"({"type":"tool_use","id":"t","name":"now","input":{}})",
            Delta(R"({"type":"input_json_delta","partial_json":"{\"zone\": \"Os"})"));
  const ModelView view = ViewWith(StreamedMessage(), Start() + block + End("max_tokens") + kStop);
  EXPECT_EQ(view.choices[0].tool_calls[0].arguments, R"({"zone": "Os)");
  EXPECT_TRUE(Has(view.anomalies, "tool_input_invalid"));
}

TEST(AnthropicView, SignatureIsSetNotAppended) {
  const std::string block = Block(R"({"type":"thinking","thinking":"","signature":""})",
                                  Delta(R"({"type":"thinking_delta","thinking":"t"})") +
                                      Delta(R"({"type":"signature_delta","signature":"A"})") +
                                      Delta(R"({"type":"signature_delta","signature":"B"})"));
  const ModelView view = ViewWith(StreamedMessage(), Start() + block + End("end_turn") + kStop);
  EXPECT_EQ(view.choices[0].sealed_reasoning, (std::vector<std::string>{"B"}));
}

// cases/reports.md 8
TEST(AnthropicView, ErrorInsideA200IsAProviderError) {
  const ModelView view = ViewWith(
      StreamedMessage(),
      Start() + Text("It ") +
          "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
          "\"message\":\"busy\"},\"request_id\":\"req_1\"}\n\n");
  EXPECT_EQ(EndOf(view), "provider_error:overloaded_error");
  EXPECT_EQ(view.error_message, "busy");
  EXPECT_EQ(view.http_status, 200);
  EXPECT_EQ(view.choices[0].content, "It ");
}

TEST(AnthropicView, ErrorDocumentNamesItsType) {
  const ModelView view = ViewWith(
      SampleNamed("message"),
      R"({"type":"error","error":{"type":"rate_limit_error","message":"slow"},"request_id":"r"})",
      429);
  EXPECT_EQ(EndOf(view), "provider_error:rate_limit_error");
}

TEST(AnthropicView, StreamThatStopsIsTruncated) {
  EXPECT_EQ(EndOf(ViewWith(StreamedMessage(), Start() + Text("a"))), "truncated:no_terminal_event");
  const std::string body = Start() + Text("a") + End("end_turn");
  EXPECT_EQ(EndOf(ViewWith(StreamedMessage(), body.substr(0, body.size() - 20))),
            "truncated:cut_inside_record");
}

// cases/reports.md 7: a reason without an end mark is an end.
TEST(AnthropicView, ReasonWithoutMessageStopIsComplete) {
  const ModelView view = ViewWith(StreamedMessage(), Start() + Text("a") + End("end_turn"));
  EXPECT_EQ(EndOf(view), "complete");
  EXPECT_FALSE(view.end_marker);
  EXPECT_TRUE(Has(view.anomalies, "missing_message_stop"));
}

TEST(AnthropicView, RefusalIsToldWithItsCategory) {
  const ModelView view =
      ViewWith(StreamedMessage(),
               Start() +
                   TypedEvent("message_delta",
                              R"("delta":{"stop_reason":"refusal","stop_details":{)"
                              R"("type":"refusal","category":"cyber","explanation":"No."}})") +
                   kStop);
  EXPECT_EQ(view.choices[0].finish_reason, "refusal");
  EXPECT_EQ(view.choices[0].refusal, "No.");
  EXPECT_EQ(view.facts, (Tags{{"stop_details.category", "cyber"}}));
}

TEST(AnthropicView, StopSequenceIsKept) {
  const ModelView view =
      ViewWith(StreamedMessage(),
               Start() + Text("a") +
                   TypedEvent("message_delta",
                              R"("delta":{"stop_reason":"stop_sequence","stop_sequence":"###"})") +
                   kStop);
  EXPECT_EQ(view.choices[0].stopped_at, "###");
}

TEST(AnthropicView, WhatClientsStumbleOverIsNamed) {
  std::string nameless = StreamedMessage().body;
  for (size_t at; (at = nameless.find("event: ")) != std::string::npos;) {
    nameless.erase(at, nameless.find('\n', at) + 1 - at);
  }
  const ModelView view = ViewWith(StreamedMessage(), nameless);
  EXPECT_TRUE(Has(view.anomalies, "event_name_missing"));
  EXPECT_EQ(view.choices[0].content, "Let me see.");
  EXPECT_TRUE(
      Has(ViewWith(StreamedMessage(), Start() + Start() + Text("a") + End("end_turn") + kStop)
              .anomalies,
          "second_message_start"));
  EXPECT_TRUE(Has(
      ViewWith(StreamedMessage(), Start() + TypedEvent("new_event", R"("a":1)") + kStop).anomalies,
      "unknown_event"));
  const ModelView no_start = ViewWith(
      StreamedMessage(), Delta(R"({"type":"text_delta","text":"a"})") + End("end_turn") + kStop);
  EXPECT_EQ(no_start.choices[0].content, "a");
  EXPECT_TRUE(Has(no_start.anomalies, "block_without_start"));
}

TEST(AnthropicView, CountOfTokensIsNoMessage) {
  DialectSample count = SampleNamed("message");
  count.call.endpoint = "https://api.anthropic.com/v1/messages/count_tokens";
  const ModelView view = ViewWith(count, R"({"input_tokens":2095})");
  EXPECT_EQ(EndOf(view), "complete");
  EXPECT_EQ(view.usage.prompt_tokens, 2095);
  EXPECT_TRUE(view.choices.empty());
  EXPECT_TRUE(view.anomalies.empty());
}

// cases/reports.md 38: frames of Bedrock's are kept, not read.
TEST(AnthropicView, BinaryFramesAreNotTakenForAnError) {
  DialectSample bedrock = StreamedMessage();
  bedrock.call.provider = "bedrock";
  bedrock.call.endpoint =
      "https://bedrock-runtime.us-east-1.amazonaws.com/model/"
      "anthropic.claude-sonnet-4-6/invoke-with-response-stream";
  bedrock.call.request =
      R"({"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[]})";
  bedrock.call.headers = {{"content-type", "application/vnd.amazon.eventstream"}};
  // A frame without headers and payload, whole, ended in its prelude, and with a wrong checksum.
  const std::string frame("\0\0\0\x10\0\0\0\0\x05\xc2\x48\xeb\x7d\x98\xc8\xff", 16);
  for (const std::string& body :
       {frame + frame, frame + frame.substr(0, 7), frame.substr(0, 15) + "?"}) {
    const ModelView view = ViewWith(bedrock, body);
    EXPECT_EQ(EndOf(view), "complete");
    EXPECT_TRUE(Has(view.anomalies, "content_encoding:amazon.eventstream"));
    EXPECT_EQ(view.asked_model, "anthropic.claude-sonnet-4-6");
    EXPECT_TRUE(view.stream);
  }
}

}  // namespace
}  // namespace reenact::schema
