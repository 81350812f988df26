// What an answer of generateContent says, however it is framed.

#include <gtest/gtest.h>

#include <string>

#include "tests/schema/dialect_samples.h"

namespace reenact::schema {
namespace {

const DialectSample& Events() {
  return SampleNamed("gemini_events");
}

std::string Event(std::string_view members) {
  return "data: {" + std::string(members) + "}\r\n\r\n";
}

TEST(GeminiView, PartsBecomeOneChoice) {
  const ModelView view = View(SampleNamed("gemini"));
  ASSERT_EQ(view.choices.size(), 1u);
  const Choice& choice = view.choices[0];
  EXPECT_EQ(choice.content, "It rains.");
  EXPECT_EQ(choice.reasoning, "Look it up.");
  EXPECT_EQ(choice.sealed_reasoning, (std::vector<std::string>{"CiQB"}));
  ASSERT_EQ(choice.tool_calls.size(), 1u);
  EXPECT_EQ(choice.tool_calls[0].name, "alarm");
  EXPECT_EQ(choice.tool_calls[0].arguments, R"({"at":7})");
  EXPECT_EQ(choice.finish_reason, "STOP");
  EXPECT_EQ(view.asked_model, "gemini-2.5-flash");  // From the path.
  EXPECT_EQ(view.served_model, "gemini-2.5-flash-001");
  EXPECT_EQ(view.response_id, "r-1");
}

TEST(GeminiView, LogprobsHaveIdsAndNoBytes) {
  const LogprobSeries series = View(Events()).choices[0].logprobs;
  ASSERT_EQ(series.tokens.size(), 2u);
  EXPECT_EQ(series.tokens[0].chosen.id, 7);
  EXPECT_EQ(series.tokens[0].chosen.bytes, std::nullopt);
  EXPECT_EQ(series.tokens[0].chosen.logprob, -0.125);
  ASSERT_EQ(series.tokens[0].top.size(), 2u);
  EXPECT_EQ(series.tokens[0].top[1].id, 9);
  EXPECT_TRUE(series.anomalies.empty());
}

// cases/reports.md 47
TEST(GeminiView, ListsOfOtherLengthsAreMisaligned) {
  const ModelView view = ViewWith(
      SampleNamed("gemini"),
      R"({"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP","logprobsResult":{
      "chosenCandidates":[{"token":"a","tokenId":1,"logProbability":-1}],
      "topCandidates":[{"candidates":[]},{"candidates":[]}]}}]})");
  EXPECT_TRUE(Has(view.anomalies, "misaligned:chosen=1,top=2"));
}

TEST(GeminiView, ThoughtsCountAsOutput) {
  const Usage usage = View(Events()).usage;
  EXPECT_EQ(usage.prompt_tokens, 30);
  EXPECT_EQ(usage.completion_tokens, 7);
  EXPECT_EQ(usage.reasoning_tokens, 5);
  EXPECT_EQ(usage.cached_tokens, 4);
  EXPECT_EQ(usage.total_tokens, 37);
}

TEST(GeminiView, RequestIsReadAsMessages) {
  const ModelView view = View(Events());
  ASSERT_EQ(view.messages.size(), 4u);
  EXPECT_EQ(view.messages[0].role, "system");
  EXPECT_EQ(view.messages[2].tool_calls[0].name, "place");
  EXPECT_EQ(view.messages[3].tool_call_id, "place");
  EXPECT_EQ(view.messages[3].text, R"({"result":"Oslo"})");
  EXPECT_TRUE(view.stream);
  EXPECT_FALSE(View(SampleNamed("gemini")).stream);
}

TEST(GeminiView, BlockedPromptIsCompleteAndSaysSo) {
  const ModelView view = ViewWith(
      Events(), Event(R"("promptFeedback":{"blockReason":"SAFETY"},"modelVersion":"g-1")"));
  EXPECT_EQ(EndOf(view), "complete");
  EXPECT_TRUE(Has(view.anomalies, "blocked:SAFETY"));
  EXPECT_TRUE(view.choices.empty());
}

TEST(GeminiView, CandidateThatWasBlockedNamesTheCategory) {
  const ModelView view = ViewWith(SampleNamed("gemini"),
                                  R"({"candidates":[{"finishReason":"SAFETY","safetyRatings":[
      {"category":"HARM_CATEGORY_DANGEROUS_CONTENT","probability":"HIGH","blocked":true},
      {"category":"HARM_CATEGORY_HARASSMENT","probability":"LOW"}]}]})");
  EXPECT_EQ(view.choices[0].finish_reason, "SAFETY");
  EXPECT_EQ(view.choices[0].content, std::nullopt);
  EXPECT_TRUE(Has(view.anomalies, "blocked:HARM_CATEGORY_DANGEROUS_CONTENT"));
  EXPECT_FALSE(Has(view.anomalies, "blocked:HARM_CATEGORY_HARASSMENT"));
}

// There is no end mark: only the reason tells that the last chunk came.
TEST(GeminiView, StreamWithoutAReasonIsTruncated) {
  const ModelView view =
      ViewWith(Events(), Event(R"("candidates":[{"content":{"parts":[{"text":"It"}]}}])"));
  EXPECT_EQ(EndOf(view), "truncated:no_terminal_event");
  EXPECT_EQ(view.choices[0].content, "It");
}

TEST(GeminiView, ListThatWasCutIsTruncated) {
  const std::string& body = SampleNamed("gemini_list").body;
  const ModelView view = ViewWith(SampleNamed("gemini_list"), body.substr(0, body.size() - 30));
  EXPECT_EQ(EndOf(view), "truncated:cut_inside_record");
  EXPECT_EQ(view.choices[0].content, "It");
}

TEST(GeminiView, ErrorsHaveGooglesStatus) {
  const std::string error =
      R"({"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}})";
  EXPECT_EQ(EndOf(ViewWith(SampleNamed("gemini"), error, 503)), "provider_error:UNAVAILABLE");
  // A stream wraps it in its list; and in a 200 after text.
  EXPECT_EQ(EndOf(ViewWith(SampleNamed("gemini_list"), "[" + error + "]", 503)),
            "provider_error:UNAVAILABLE");
  EXPECT_EQ(EndOf(ViewWith(Events(), Event(R"("candidates":[])") + "data: " + error + "\r\n\r\n")),
            "provider_error:UNAVAILABLE");
}

TEST(GeminiView, CandidatesInterleave) {
  DialectSample two = Events();
  two.call.request = R"({"contents":[],"generationConfig":{"candidateCount":2}})";
  const auto piece = [](int index, std::string_view text, std::string_view rest = {}) {
    return Event(R"("candidates":[{"index":)" + std::to_string(index) +
                 R"(,"content":{"parts":[{"text":")" + std::string(text) + R"("}]})" +
                 std::string(rest) + "}]");
  };
  const std::string stop = R"(,"finishReason":"STOP")";
  const ModelView view =
      ViewWith(two, piece(0, "A") + piece(1, "x") + piece(0, "B", stop) + piece(1, "y", stop));
  ASSERT_EQ(view.choices.size(), 2u);
  EXPECT_EQ(view.choices[0].content, "AB");
  EXPECT_EQ(view.choices[1].content, "xy");
  EXPECT_EQ(EndOf(view), "complete");
  EXPECT_EQ(EndOf(ViewWith(two, piece(0, "A", stop))), "truncated:no_terminal_event");
}

TEST(GeminiView, CountsAndEmbeddingsAreNoGenerations) {
  DialectSample sample = SampleNamed("gemini");
  sample.call.endpoint = "/v1beta/models/gemini-2.5-flash:countTokens";
  const ModelView count = ViewWith(sample, R"({"totalTokens":31})");
  EXPECT_EQ(count.usage.prompt_tokens, 31);
  EXPECT_TRUE(count.anomalies.empty());
  sample.call.endpoint = "/v1beta/models/text-embedding-004:embedContent";
  sample.call.request = R"({"content":{"parts":[{"text":"refund"}]}})";
  const ModelView embedding = ViewWith(sample, R"({"embedding":{"values":[0.1,0.2]}})");
  EXPECT_EQ(embedding.facts, (Tags{{"dimensions", "2"}}));
  EXPECT_EQ(embedding.messages[0].text, "refund");
  EXPECT_TRUE(embedding.anomalies.empty());
  EXPECT_TRUE(Has(ViewWith(SampleNamed("gemini"), "{}").anomalies, "no_choices"));
}

TEST(GeminiView, CodeAndDataArePartsToo) {
  const ModelView view = ViewWith(SampleNamed("gemini"),
                                  R"json({"candidates":[{"content":{"parts":[
      {"executableCode":{"language":"PYTHON","code":"print(4)"}},
      {"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"4"}},
      {"inlineData":{"mimeType":"image/png","data":"iVBO"}},{"text":"!"}]},"finishReason":"STOP"}]})json");
  EXPECT_EQ(view.choices[0].tool_calls[0].arguments, "print(4)");
  EXPECT_EQ(view.choices[0].content, "[codeExecutionResult][inlineData]!");
}

}  // namespace
}  // namespace reenact::schema
