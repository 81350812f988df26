// The request that follows an answer, in each dialect, read back by the view of recorded requests.

#include "replayer/rerun/conversation.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "schema/json_view.h"

namespace reenact::rerun {
namespace {

using schema::ModelDialect;

schema::Choice AsksForTwo() {
  schema::Choice answer;
  answer.content = "Let me \"look\".\n";
  answer.tool_calls = {
      {.id = "c-1", .type = "function", .name = "lookup", .arguments = R"({"a":1})"},
      {.id = "c-2", .type = "function", .name = "policy", .arguments = "{}"}};
  return answer;
}

const std::vector<ToolMessage> kTold = {
    {.call_id = "c-1", .content = "\"12\\n\""},
    {.call_id = "c-2", .content = "\"late\"", .is_error = true}};

schema::ModelView ViewOf(const std::string& provider, const std::string& endpoint,
                         const std::string& request) {
  schema::Event event;
  event.provider = provider;
  event.endpoint = endpoint;
  event.request.bytes = request;
  return schema::ViewModelCall(event);
}

struct DialectCase {
  ModelDialect dialect;
  std::string provider;
  std::string endpoint;
  std::string request;
};

std::vector<DialectCase> Cases() {
  return {{ModelDialect::kOpenAiChat, "openai", "https://api.openai.com/v1/chat/completions",
           R"({"model":"m","messages":[ {"role":"user","content":"Hi"} ],"seed":7})"},
          {ModelDialect::kAnthropicMessages, "anthropic", "https://api.anthropic.com/v1/messages",
           R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]})"},
          {ModelDialect::kOpenAiResponses, "openai", "https://api.openai.com/v1/responses",
           R"({"model":"m","input":"Hi"})"}};
}

TEST(RequestAfterTest, HoldsTheAnswerAndWhatItsToolsSaid) {
  for (const DialectCase& dialect : Cases()) {
    const auto next = RequestAfter(dialect.dialect, dialect.request, AsksForTwo(), kTold);
    ASSERT_TRUE(next.ok()) << next.status();
    ASSERT_NE(schema::JsonDocument::Parse(*next), nullptr) << *next;
    const schema::ModelView before = ViewOf(dialect.provider, dialect.endpoint, dialect.request);
    schema::ModelView call = before;
    call.choices = {AsksForTwo()};
    const schema::ModelView after = ViewOf(dialect.provider, dialect.endpoint, *next);
    EXPECT_EQ(after.dialect, dialect.dialect);
    EXPECT_TRUE(Continues(call, after)) << *next;
    EXPECT_FALSE(Continues(call, before));
    std::string names;
    for (const schema::RequestMessage& message : after.messages) {
      for (const schema::ToolCall& tool : message.tool_calls) names += tool.name + tool.arguments;
    }
    EXPECT_EQ(names, R"(lookup{"a":1}policy{})") << *next;
    const auto told = NewToolMessages(dialect.dialect, dialect.request, *next);
    ASSERT_EQ(told.size(), 2u) << *next;
    EXPECT_EQ(told[0].call_id, "c-1");
    EXPECT_EQ(told[0].content, kTold[0].content);
    EXPECT_EQ(told[1].is_error, dialect.dialect == ModelDialect::kAnthropicMessages);
  }
}

TEST(RequestAfterTest, ALaterRequestHasItsOwnToolMessagesAlone) {
  for (const DialectCase& dialect : Cases()) {
    const auto next = RequestAfter(dialect.dialect, dialect.request, AsksForTwo(), kTold);
    const auto last = RequestAfter(dialect.dialect, *next, AsksForTwo(), {kTold[1], kTold[0]});
    const auto told = NewToolMessages(dialect.dialect, *next, *last);
    ASSERT_EQ(told.size(), 2u) << *last;
    EXPECT_EQ(told[0].call_id, "c-2");
  }
}

TEST(RequestAfterTest, AnthropicsThinkingGoesBackWithItsSignature) {
  schema::Choice answer = AsksForTwo();
  answer.reasoning = "hm";
  answer.sealed_reasoning = {"sig"};
  const auto next =
      RequestAfter(ModelDialect::kAnthropicMessages, Cases()[1].request, answer, kTold);
  ASSERT_TRUE(next.ok());
  EXPECT_NE(next->find(R"({"type":"thinking","thinking":"hm","signature":"sig"})"),
            std::string::npos);
  answer.sealed_reasoning = {"a", "b"};
  EXPECT_TRUE(absl::IsUnimplemented(
      RequestAfter(ModelDialect::kAnthropicMessages, Cases()[1].request, answer, kTold).status()));
}

TEST(RequestAfterTest, WhatTheProviderKeepsIsNotMadeUp) {
  const std::string kept = R"({"model":"m","input":"Hi","previous_response_id":"resp-1"})";
  EXPECT_TRUE(absl::IsUnimplemented(
      RequestAfter(ModelDialect::kOpenAiResponses, kept, AsksForTwo(), kTold).status()));
  EXPECT_TRUE(absl::IsUnimplemented(
      RequestAfter(ModelDialect::kOpenAiCompletions, R"({"prompt":"Hi"})", AsksForTwo(), {})
          .status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      RequestAfter(ModelDialect::kOpenAiChat, R"({"model":"m"})", AsksForTwo(), {}).status()));
}

}  // namespace
}  // namespace reenact::rerun
