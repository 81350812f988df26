// What an answer of the Responses API says: items, the last event's word, and how it can end.

#include <gtest/gtest.h>

#include <string>

#include "tests/schema/dialect_samples.h"

namespace reenact::schema {
namespace {

const DialectSample& StreamedResponse() {
  return SampleNamed("response_stream");
}

std::string Created() {
  return TypedEvent(
      "response.created",
      R"("response":{"id":"resp_1","status":"in_progress","model":"m-1","output":[]})");
}

std::string TextDelta(std::string_view text) {
  return TypedEvent("response.output_text.delta",
                    R"("output_index":0,"content_index":0,"delta":")" + std::string(text) + "\"");
}

std::string Ended(std::string_view how, std::string_view members) {
  return TypedEvent("response." + std::string(how), R"("response":{"id":"resp_1","status":")" +
                                                        std::string(how) + "\"," +
                                                        std::string(members) + "}");
}

TEST(ResponsesView, ItemsBecomeOneChoice) {
  const ModelView view = View(SampleNamed("response"));
  ASSERT_EQ(view.choices.size(), 1u);
  const Choice& choice = view.choices[0];
  EXPECT_EQ(choice.content, "Hé");
  EXPECT_EQ(choice.reasoning, "Look it up.");
  EXPECT_EQ(choice.sealed_reasoning, (std::vector<std::string>{"gAAAx"}));
  ASSERT_EQ(choice.tool_calls.size(), 1u);
  EXPECT_EQ(choice.tool_calls[0].id, "call_1");  // Not "fc_1": results come back under this one.
  EXPECT_EQ(choice.tool_calls[0].arguments, R"({"city":"Oslo"})");
  EXPECT_EQ(choice.finish_reason, "completed");
  ASSERT_EQ(choice.logprobs.tokens.size(), 2u);
  EXPECT_EQ(choice.logprobs.tokens[1].chosen.bytes, "é");
  EXPECT_EQ(view.served_model, "gpt-6-astra-2026-09-01");
  EXPECT_EQ(view.service_tier, "default");
  EXPECT_EQ(view.usage.prompt_tokens, 30);
  EXPECT_EQ(view.usage.cached_tokens, 8);
  EXPECT_EQ(view.usage.cache_write_tokens, 2);
  EXPECT_EQ(view.usage.reasoning_tokens, 5);
  EXPECT_EQ(view.usage.total_tokens, 42);
  EXPECT_EQ(view.fingerprint_presence, Presence::kAbsent);
}

TEST(ResponsesView, RequestIsReadAsMessages) {
  const ModelView view = View(StreamedResponse());
  ASSERT_EQ(view.messages.size(), 4u);
  EXPECT_EQ(view.messages[0].role, "system");
  EXPECT_EQ(view.messages[1].text, "Weather?");
  EXPECT_EQ(view.messages[2].tool_calls[0].name, "place");
  EXPECT_EQ(view.messages[3].role, "tool");
  EXPECT_EQ(view.messages[3].tool_call_id, "call_0");
  EXPECT_EQ(view.messages[3].text, "Oslo");
  EXPECT_TRUE(view.logprobs_asked);
}

// Only the last event has the bytes of its tokens.
TEST(ResponsesView, TheLastEventDecides) {
  const ModelView view = View(StreamedResponse());
  EXPECT_EQ(view.choices[0].logprobs.tokens[1].chosen.bytes, "é");
  const ModelView other = ViewWith(
      StreamedResponse(),
      Created() + TextDelta("It rains") +
          Ended(
              "completed",
              R"("output":[{"type":"message","content":[{"type":"output_text","text":"It pours"}]}])"));
  EXPECT_EQ(other.choices[0].content, "It pours");
  EXPECT_TRUE(Has(other.anomalies, "final_text_differs"));
}

TEST(ResponsesView, WhatWasStreamedStandsWhereTheLastEventHasNoOutput) {
  const ModelView view =
      ViewWith(StreamedResponse(), Created() + TextDelta("It ") + TextDelta("rains") +
                                       Ended("completed", R"("output":[])"));
  EXPECT_EQ(view.choices[0].content, "It rains");
  EXPECT_FALSE(Has(view.anomalies, "final_text_differs"));
}

TEST(ResponsesView, DoneEventsReplaceWhatWasAppended) {
  const std::string done = TypedEvent("response.output_text.done",
                                      R"("output_index":0,"content_index":0,"text":"It rains")");
  const ModelView view = ViewWith(StreamedResponse(), Created() + TextDelta("It r") + done +
                                                          Ended("completed", R"("output":[])"));
  EXPECT_EQ(view.choices[0].content, "It rains");
}

// The official client ends here without a word.
TEST(ResponsesView, StreamWithoutATerminalEventIsTruncated) {
  const ModelView view = ViewWith(StreamedResponse(), Created() + TextDelta("It "));
  EXPECT_EQ(EndOf(view), "truncated:no_terminal_event");
  EXPECT_EQ(view.choices[0].content, "It ");
  EXPECT_EQ(view.choices[0].finish_reason, "");
  EXPECT_TRUE(Has(view.anomalies, "no_terminal_event"));
}

TEST(ResponsesView, AnEndMarkAfterTheLastEventIsNoOddity) {
  const ModelView view = ViewWith(StreamedResponse(), StreamedResponse().body + "data: [DONE]\n\n");
  EXPECT_TRUE(view.anomalies.empty());
  EXPECT_TRUE(Has(ViewWith(StreamedResponse(), StreamedResponse().body + TextDelta("x")).anomalies,
                  "records_after_done"));
}

TEST(ResponsesView, IncompleteTellsWhy) {
  const ModelView view =
      ViewWith(StreamedResponse(),
               Created() + TextDelta("It ") +
                   Ended("incomplete",
                         R"("incomplete_details":{"reason":"max_output_tokens"},"output":[])"));
  EXPECT_EQ(EndOf(view), "complete");
  EXPECT_EQ(view.choices[0].finish_reason, "max_output_tokens");
}

// cases/reports.md 8
TEST(ResponsesView, FailureInsideA200IsAProviderError) {
  const ModelView failed = ViewWith(
      StreamedResponse(),
      Created() +
          Ended("failed", R"("error":{"code":"server_error","message":"oops"},"output":[])"));
  EXPECT_EQ(EndOf(failed), "provider_error:server_error");
  EXPECT_EQ(failed.error_message, "oops");
  // Fields at the top level, which some clients hand on as an ordinary event.
  const ModelView error =
      ViewWith(StreamedResponse(),
               Created() + TextDelta("It ") +
                   TypedEvent("error", R"("code":"rate_limit_exceeded","message":"slow")"));
  EXPECT_EQ(EndOf(error), "provider_error:rate_limit_exceeded");
  EXPECT_EQ(error.choices[0].content, "It ");
}

TEST(ResponsesView, CallsOfTheProvidersToolsAreNamedByTheirType) {
  const ModelView view = ViewWith(SampleNamed("response"),
                                  R"({"id":"r","status":"completed","model":"m","output":[
      {"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"rain"}},
      {"type":"mcp_call","id":"mcp_1","name":"roll","arguments":"{\"d\":6}","output":"4"},
      {"type":"custom_tool_call","call_id":"c","name":"sql","input":"select 1"},
      {"type":"message","content":[{"type":"refusal","refusal":"No."}]},
      {"type":"compaction","encrypted_content":"gBBB"},{"type":"of_next_year"}]})");
  const Choice& choice = view.choices[0];
  ASSERT_EQ(choice.tool_calls.size(), 3u);
  EXPECT_EQ(choice.tool_calls[0].name, "web_search_call");
  EXPECT_EQ(choice.tool_calls[0].arguments, R"({"type":"search","query":"rain"})");
  EXPECT_EQ(choice.tool_calls[1].name, "roll");
  EXPECT_EQ(choice.tool_calls[2].arguments, "select 1");
  EXPECT_EQ(choice.refusal, "No.");
  EXPECT_EQ(choice.content, std::nullopt);
  EXPECT_EQ(choice.sealed_reasoning, (std::vector<std::string>{"gBBB"}));
}

TEST(ResponsesView, WhatTheProviderKeepsIsNotInTheRequest) {
  DialectSample sample = SampleNamed("response");
  sample.call.request =
      R"({"model":"m","input":"go on","previous_response_id":"resp_0","conversation":null})";
  const ModelView view = View(sample);
  EXPECT_TRUE(Has(view.anomalies, "not_self_contained:previous_response_id"));
  EXPECT_FALSE(Has(view.anomalies, "not_self_contained:conversation"));
}

TEST(ResponsesView, LostEventsAndUnfinishedAnswersAreNamed) {
  const auto at = [](int number) {
    return TypedEvent("keepalive", R"("sequence_number":)" + std::to_string(number));
  };
  EXPECT_TRUE(Has(ViewWith(StreamedResponse(), at(3) + at(4) + at(6)).anomalies, "sequence_gap"));
  EXPECT_FALSE(Has(ViewWith(StreamedResponse(), at(3) + at(4) + at(5)).anomalies, "sequence_gap"));
  // A call that goes on in the background.
  const ModelView queued =
      ViewWith(SampleNamed("response"), R"({"id":"r","status":"queued","model":"m","output":[]})");
  EXPECT_EQ(queued.choices[0].finish_reason, "queued");
  EXPECT_TRUE(Has(queued.anomalies, "response_not_finished"));
}

TEST(ResponsesView, UnknownEventsAreNamedAndPassed) {
  const ModelView view = ViewWith(StreamedResponse(),
                                  TypedEvent("of_next_year", R"("a":1)") + StreamedResponse().body);
  EXPECT_TRUE(Has(view.anomalies, "unknown_event"));
  EXPECT_EQ(view.choices[0].content, "Hé");
}

}  // namespace
}  // namespace reenact::schema
