// Request bodies: what becomes of good ones, and that bad ones are refused by name.

#include "tools/engine_server/api_request.h"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "local_engine/grammar/grammar_automaton.h"
#include "tests/local_engine/grammar/read_text.h"
#include "tools/engine_server/json_bounds.h"
#include "tools/engine_server/output_form.h"
#include "tools/engine_server/tool_call_text.h"

namespace reenact::engine_server {
namespace {

constexpr const char* kMessages = R"("model": "m", "messages": [{"role": "user", "content": "a"}])";

std::string Chat(const std::string& more) {
  return std::string("{") + kMessages + (more.empty() ? "" : ", " + more) + "}";
}

// "param: message", or "ok".
std::string Refusal(Endpoint endpoint, const std::string& body) {
  ApiRequest request;
  const std::optional<ApiError> error = ReadRequest(endpoint, body, &request);
  if (!error.has_value()) return "ok";
  EXPECT_EQ(error->status, 400);
  EXPECT_NE(ErrorBody(*error).find("\"invalid_request_error\""), std::string::npos);
  return error->param + ": " + error->message;
}

ApiRequest Read(Endpoint endpoint, const std::string& body) {
  ApiRequest request;
  const std::optional<ApiError> error = ReadRequest(endpoint, body, &request);
  EXPECT_FALSE(error.has_value()) << error->message;
  return request;
}

TEST(ApiRequest, EveryFieldReachesTheEngine) {
  const ApiRequest request =
      Read(Endpoint::kChat,
           Chat(R"("max_completion_tokens": 9, "max_tokens": 5, "temperature": 0.5, "top_p": 0.25,
              "top_k": 3, "min_p": 0.125, "presence_penalty": 1, "frequency_penalty": -1,
              "repetition_penalty": 1.5, "seed": -1, "n": 2, "stop": ["x", "y"], "logprobs": true,
              "top_logprobs": 4, "logit_bias": {"7": -100}, "stream": true, "ignore_eos": true,
              "stream_options": {"include_usage": true}, "stop_token_ids": [3],
              "chat_template_kwargs": {"enable_thinking": false}, "reasoning_effort": "low")"));
  const local_engine::Request& engine = request.engine_request;
  EXPECT_EQ(engine.max_tokens, 9);
  EXPECT_EQ(engine.sampling.temperature, 0.5f);
  EXPECT_EQ(engine.sampling.top_p, 0.25f);
  EXPECT_EQ(engine.sampling.top_k, 3);
  EXPECT_EQ(engine.sampling.min_p, 0.125f);
  EXPECT_EQ(engine.sampling.presence_penalty, 1.0f);
  EXPECT_EQ(engine.sampling.frequency_penalty, -1.0f);
  EXPECT_EQ(engine.sampling.repetition_penalty, 1.5f);
  EXPECT_EQ(engine.seed, UINT64_MAX);
  EXPECT_EQ(engine.sample_count, 2);
  EXPECT_EQ(engine.stop_texts, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(engine.logprobs && engine.ignore_end);
  EXPECT_EQ(engine.top_logprobs, 4);
  ASSERT_EQ(engine.biases.size(), 1u);
  EXPECT_EQ(engine.biases[0].token_id, 7);
  EXPECT_EQ(engine.stop_tokens, std::vector<int32_t>{3});
  EXPECT_TRUE(request.stream && request.include_usage);
  EXPECT_EQ(request.template_variables_json,
            R"({"enable_thinking":false,"reasoning_effort":"low"})");
}

TEST(ApiRequest, NullIsAbsentAndOpenAisDefaultsHold) {
  const ApiRequest request = Read(
      Endpoint::kChat, Chat(R"("temperature": null, "stop": null, "tools": null, "seed": null)"));
  EXPECT_EQ(request.engine_request.sampling.temperature, 1.0f);
  EXPECT_FALSE(request.engine_request.seed.has_value());
  EXPECT_TRUE(request.tools_json.empty());
  EXPECT_EQ(Read(Endpoint::kCompletions, R"({"model":"m","prompt":"a"})").engine_request.max_tokens,
            16);
}

TEST(ApiRequest, AFormIsReadAndAForcedCallNamesItsTools) {
  const std::string tools =
      R"("tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
          {"type": "function", "function": {"name": "g", "strict": true, "parameters": {"type": "object"}}}])";
  const ApiRequest any = Read(Endpoint::kChat, Chat(tools + R"(, "tool_choice": "required")"));
  EXPECT_EQ(any.form.kind, OutputForm::Kind::kToolCall);
  ASSERT_EQ(any.form.tools.size(), 2u);
  EXPECT_EQ(any.form.tools[0].parameters, "");  // Nobody said that they are strict.
  EXPECT_EQ(any.form.tools[1].parameters, R"({"type":"object"})");
  const ApiRequest one =
      Read(Endpoint::kChat,
           Chat(tools + R"(, "tool_choice": {"type": "function", "function": {"name": "g"}})"));
  ASSERT_EQ(one.form.tools.size(), 1u);
  EXPECT_EQ(one.form.tools[0].name, "g");
  EXPECT_EQ(one.tool_names.size(), 2u);
  const ApiRequest schema = Read(
      Endpoint::kChat,
      Chat(
          R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}})"));
  EXPECT_EQ(schema.form.kind, OutputForm::Kind::kJsonSchema);
  EXPECT_EQ(schema.form.json_schema, R"({"type":"object"})");
  const ApiRequest none = Read(Endpoint::kChat, Chat(tools + R"(, "tool_choice": "none")"));
  EXPECT_EQ(none.form.kind, OutputForm::Kind::kFree);
  EXPECT_TRUE(none.tools_json.empty());
}

TEST(ApiRequest, AnEchoAsksForTheLogprobsOfThePromptWhereThereAreSome) {
  const auto completion = [](const std::string& more) {
    return R"({"model": "m", "prompt": "a", )" + more + "}";
  };
  const ApiRequest both =
      Read(Endpoint::kCompletions, completion(R"("echo": true, "logprobs": 1, "max_tokens": 0)"));
  EXPECT_TRUE(both.echo && both.engine_request.prompt_logprobs);
  EXPECT_EQ(both.engine_request.max_tokens, 0);
  EXPECT_FALSE(both.all_that_fits);
  const ApiRequest text = Read(Endpoint::kCompletions, completion(R"("echo": true)"));
  EXPECT_TRUE(text.echo && !text.engine_request.prompt_logprobs);
  EXPECT_EQ(Refusal(Endpoint::kCompletions, completion(R"("echo": true, "stream": true)"))
                .rfind("echo: echo goes without stream", 0),
            0u);
}

// What stands in a template decides how a call has to be written.
TEST(OutputForm, TheTemplateDecidesHowACallIsWritten) {
  OutputForm form{.kind = OutputForm::Kind::kToolCall, .json_schema = "", .tools = {{"f", ""}}};
  const std::pair<const char*, const char*> cases[] = {
      {"{{ '<tool_call>' }}",
       "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"},
      {"{{ '[TOOL_CALLS] [' }}", "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {}}]"},
      {"{{ '{\"name\": \"' }}{{ '\"parameters\": ' }}", "{\"name\":\"f\",\"parameters\":{}}"}};
  for (const auto& [chat_template, text] : cases) {
    local_engine::Grammar grammar;
    ASSERT_FALSE(MakeGrammar(form, chat_template, &grammar).has_value()) << chat_template;
    local_engine::GrammarAutomaton automaton(grammar);
    EXPECT_TRUE(local_engine::IsText(&automaton, text)) << text;
    EXPECT_FALSE(local_engine::IsText(&automaton, "I will look.")) << chat_template;
    // What reads an answer finds the one call in it.
    ToolCallText reader({"f"});
    ToolCallText::Piece piece = reader.Push(text, "");
    const ToolCallText::Piece rest = reader.Finish();
    piece.calls.insert(piece.calls.end(), rest.calls.begin(), rest.calls.end());
    ASSERT_EQ(piece.calls.size(), 1u) << text;
    EXPECT_EQ(piece.calls[0].name, "f");
  }
  for (const char* unknown : {"", "{{ messages }}", "{{ '[TOOL_CALLS]f[ARGS]' }}"}) {
    local_engine::Grammar grammar;
    const std::optional<ApiError> error = MakeGrammar(form, unknown, &grammar);
    ASSERT_TRUE(error.has_value()) << unknown;
    EXPECT_EQ(error->param, "tool_choice");
  }
  form.tools[0].parameters = R"({"type": "string", "pattern": "a"})";
  local_engine::Grammar grammar;
  const std::optional<ApiError> error = MakeGrammar(form, "<tool_call>", &grammar);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->param, "tools");
}

TEST(ApiRequest, MessagesAreWhatTemplatesWant) {
  const ApiRequest request = Read(Endpoint::kChat, R"({"model": "m", "messages": [
      {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
       "function": {"name": "f", "arguments": "{\"z\": 1, \"a\": 2}"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "c"}]})");
  EXPECT_EQ(request.messages_json,
            R"([{"role":"system","content":"a\nb"},)"
            R"({"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function",)"
            R"("function":{"name":"f","arguments":{"z":1,"a":2}}}]},)"
            R"({"role":"tool","tool_call_id":"1","content":"c"}])");
}

TEST(ApiRequest, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("temperature": "hot")", "temperature: temperature is not a number from 0.0 to 2.0"},
      {R"("temperature": 2.5)", "temperature: temperature is not a number from 0.0 to 2.0"},
      {R"("n": 1.5)", "n: n is not an integer from 1 to 128"},
      {R"("n": 1000)", "n: n is not an integer from 1 to 128"},
      {R"("seed": 18446744073709551615)", "seed: "},
      {R"("stream": 1)", "stream: stream is not true or false"},
      {R"("stream_options": {"include_usage": true})", "stream_options: "},
      {R"("stream": true, "stream_options": {"usage": 1})",
       "stream_options.usage: stream_options.usage is no field"},
      {R"("stop": [1])", "stop: "},
      {R"("logit_bias": {"x": 1})", "logit_bias: "},
      {R"("logit_bias": {"1": 101})", "logit_bias: "},
      {R"("logit_bias": {"1": "1"})", "logit_bias: "},
      {R"("top_logprobs": 1)", "top_logprobs: top_logprobs goes with logprobs: true"},
      {R"("tools": {})", "tools: tools is not a list"},
      {R"("tools": [{"type": "custom"}])", "tools[0]: "},
      {R"("tools": [{"type": "function", "function": {}}])", "tools[0].function.name: "},
      {R"("tool_choice": {"type": "function"})", "tool_choice: "},
      {R"("tool_choice": "always")", "tool_choice: "},
      {R"("tool_choice": "required")", "tool_choice: tool_choice goes with tools"},
      {R"("tool_choice": {"type": "function", "function": {"name": "f"}})", "tool_choice: "},
      {R"("tool_choice": {"type": "function", "function": {"name": "g"}}, "tools": [{"type": "function",
          "function": {"name": "f"}}])",
       "tool_choice: tool_choice names g, which is none of the tools"},
      {R"("response_format": {"type": "json_schema"})", "response_format.json_schema: "},
      {R"("response_format": {"type": "xml"})", "response_format: "},
      {R"("response_format": {"type": "json_object"}, "tools": [{"type": "function",
          "function": {"name": "f"}}])",
       "response_format: response_format goes without tools"},
      {R"("echo": true)", "echo: echo is no field"},
      {R"("tempreature": 1)", "tempreature: tempreature is no field that this server knows"},
  };
  for (const auto& [more, expected] : cases) {
    const std::string refusal = Refusal(Endpoint::kChat, Chat(more));
    EXPECT_EQ(refusal.rfind(expected, 0), 0u) << more << "\n" << refusal;
  }
  EXPECT_EQ(Refusal(Endpoint::kChat, Chat("")), "ok");
}

TEST(ApiRequest, ABodyThatIsNoRequestIsRefused) {
  for (const char* body :
       {"", "{", "[]", "null", "1", "\"a\"", "{}", "{\"model\": \"m\"}", "{\"model\": 1}",
        "{\"model\": \"m\", \"messages\": {}}", "{\"model\": \"m\", \"messages\": [1]}",
        "{\"model\": \"m\", \"messages\": [{}]}", "\xff\xfe",
        "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"\\ud800\"}]}",
        "{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": 1e999}]}"}) {
    EXPECT_NE(Refusal(Endpoint::kChat, body), "ok") << body;
    EXPECT_NE(Refusal(Endpoint::kCompletions, body), "ok") << body;
  }
}

TEST(ApiRequest, WhatWouldOverflowAStackOrTakeQuadraticTimeIsRefusedFirst) {
  const std::string deep = Chat("\"metadata\": " + std::string(1 << 20, '['));
  EXPECT_EQ(Refusal(Endpoint::kChat, deep), ": the body is nested deeper than 64 levels");
  std::string wide = "\"metadata\": {\"a\": 0";
  for (int i = 0; i < kMostMembers; ++i) wide += ",\"" + std::to_string(i) + "\": 0";
  EXPECT_NE(Refusal(Endpoint::kChat, Chat(wide + "}")).find("members"), std::string::npos);
  EXPECT_EQ(ExceededBound(R"({"a": "[[[[:::::\"[[["})"), "");
}

// Bytes changed, taken out, doubled and cut in good requests: every one is read or refused.
TEST(ApiRequest, MutatedBodiesAreReadOrRefusedAndNeverCrash) {
  const std::string bodies[] = {
      Chat(R"("tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
              "stop": ["a"], "logit_bias": {"5": 1}, "stream": true, "stream_options": {}, "n": 2)"),
      R"({"model": "m", "prompt": [1, 2, 3], "logprobs": 2, "seed": 12345678901234})"};
  std::minstd_rand random(20261130);
  int refused = 0;
  int read = 0;
  for (int i = 0; i < 40000; ++i) {
    const bool chat = i % 2 == 0;
    std::string body = bodies[i % 2];
    for (uint32_t change = 0; change <= random() % 3 && !body.empty(); ++change) {
      const size_t at = random() % body.size();
      switch (random() % 5) {
        case 0:
          body[at] = static_cast<char>(random());
          break;
        case 1:
          body.erase(at, 1 + random() % 9);
          break;
        case 2:
          body.insert(at, body.substr(random() % body.size(), random() % 20));
          break;
        case 3:
          body[at] = "{}[]\":,0-.eE\\u"[random() % 14];
          break;
        default:
          body.resize(at + 1);
      }
    }
    (Refusal(chat ? Endpoint::kChat : Endpoint::kCompletions, body) == "ok" ? read : refused) += 1;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace reenact::engine_server
