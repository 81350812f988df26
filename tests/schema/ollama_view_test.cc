// What an answer in Ollama's own form says.

#include <gtest/gtest.h>

#include <string>

#include "tests/schema/dialect_samples.h"

namespace reenact::schema {
namespace {

const DialectSample& StreamedOllama() {
  return SampleNamed("ollama_stream");
}

TEST(OllamaView, LinesBecomeOneChoice) {
  const ModelView view = View(StreamedOllama());
  ASSERT_EQ(view.choices.size(), 1u);
  EXPECT_EQ(view.choices[0].content, "It rains.");
  EXPECT_EQ(view.choices[0].reasoning, "Look it up.");
  ASSERT_EQ(view.choices[0].tool_calls.size(), 1u);
  EXPECT_EQ(view.choices[0].tool_calls[0].arguments, R"({"at":7})");
  EXPECT_EQ(view.choices[0].finish_reason, "stop");
  EXPECT_EQ(view.served_model, "llama3.2:latest");
  EXPECT_EQ(view.usage.prompt_tokens, 30);
  EXPECT_EQ(view.usage.completion_tokens, 7);
  EXPECT_EQ(view.facts, (Tags{{"total_duration", "9"}}));
  EXPECT_TRUE(view.end_marker);
  EXPECT_TRUE(view.stream);  // The default of this interface.
  EXPECT_FALSE(View(SampleNamed("ollama")).stream);
}

TEST(OllamaView, RequestIsReadAsMessages) {
  const ModelView view = View(StreamedOllama());
  ASSERT_EQ(view.messages.size(), 3u);
  EXPECT_EQ(view.messages[1].tool_calls[0].name, "place");
  EXPECT_EQ(view.messages[2].tool_call_id, "place");
  const ModelView generate = View(SampleNamed("ollama_generate"));
  EXPECT_EQ(generate.messages[0].role, "prompt");
  EXPECT_EQ(generate.messages[0].text, "Once");
}

TEST(OllamaView, LogprobsOfALineAreRead) {
  const Choice choice = View(SampleNamed("ollama_generate")).choices[0];
  EXPECT_EQ(choice.content, " upon");
  ASSERT_EQ(choice.logprobs.tokens.size(), 1u);
  EXPECT_EQ(choice.logprobs.tokens[0].chosen.bytes, " upon");
}

// The status was sent before anything went wrong.
TEST(OllamaView, ErrorLineInsideA200IsAProviderError) {
  const std::string first = StreamedOllama().body.substr(0, StreamedOllama().body.find('\n') + 1);
  const ModelView view = ViewWith(StreamedOllama(), first + "{\"error\":\"out of memory\"}\n");
  EXPECT_EQ(EndOf(view), "provider_error:error");
  EXPECT_EQ(view.error_message, "out of memory");
  EXPECT_EQ(view.choices[0].reasoning, "Look it up.");
}

TEST(OllamaView, StreamThatStopsIsTruncated) {
  const std::string& body = StreamedOllama().body;
  const size_t second = body.find('\n') + 1;
  EXPECT_EQ(EndOf(ViewWith(StreamedOllama(), body.substr(0, second))),
            "truncated:no_terminal_event");
  EXPECT_EQ(EndOf(ViewWith(StreamedOllama(), body.substr(0, second + 30))),
            "truncated:cut_inside_record");
  // Also where a proxy in between lost the content type.
  DialectSample plain = StreamedOllama();
  plain.call.headers.clear();
  EXPECT_EQ(EndOf(ViewWith(plain, body.substr(0, second))), "truncated:no_terminal_event");
  EXPECT_EQ(EndOf(View(plain)), "complete");
}

TEST(OllamaView, LineThatIsNoJsonIsNamed) {
  const ModelView view = ViewWith(
      StreamedOllama(), "{\"message\":{\"content\":\"a\"}\nnot json\n" + StreamedOllama().body);
  EXPECT_TRUE(Has(view.anomalies, "json_error:event=0"));
  EXPECT_TRUE(Has(view.anomalies, "json_error:event=1"));
  EXPECT_EQ(view.choices[0].content, "It rains.");
}

TEST(OllamaView, EmbeddingsAreCounted) {
  DialectSample sample = SampleNamed("ollama");
  sample.call.endpoint = "http://localhost:11434/api/embed";
  sample.call.request = R"({"model":"nomic-embed-text","input":["a","b"]})";
  const ModelView view = ViewWith(
      sample,
      R"({"model":"nomic-embed-text","embeddings":[[0.1,0.2],[0.3,0.4]],"prompt_eval_count":2})");
  EXPECT_EQ(view.facts, (Tags{{"embeddings", "2"}, {"dimensions", "2"}}));
  EXPECT_EQ(view.usage.prompt_tokens, 2);
  EXPECT_EQ(view.messages.size(), 2u);
  EXPECT_EQ(EndOf(view), "complete");
  EXPECT_TRUE(view.anomalies.empty());
}

}  // namespace
}  // namespace reenact::schema
