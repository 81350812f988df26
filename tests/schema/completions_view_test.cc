// The older completions API, embeddings, and what compatible servers add to OpenAI's dialects.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/schema/dialect_samples.h"

namespace reenact::schema {
namespace {

using Ids = std::vector<int64_t>;

TEST(CompletionsView, ParallelListsBecomeTokens) {
  const ModelView view = View(SampleNamed("completion"));
  const Choice& choice = view.choices[0];
  EXPECT_EQ(choice.content, " upon a");
  EXPECT_EQ(choice.finish_reason, "length");
  ASSERT_EQ(choice.logprobs.tokens.size(), 2u);
  EXPECT_EQ(choice.logprobs.tokens[0].top[1].token, " more");
  EXPECT_EQ(choice.logprobs.tokens[0].top[1].logprob, -1.5);
  EXPECT_EQ(view.system_fingerprint, "fp_44");
  EXPECT_EQ(view.usage.total_tokens, 3);
  EXPECT_EQ(view.messages[0].text, "Once");
}

TEST(CompletionsView, StreamKeepsTokenIds) {
  const ModelView view = View(SampleNamed("completion_stream"));
  EXPECT_EQ(view.choices[0].content, " upon a");
  EXPECT_EQ(view.choices[0].token_ids, (Ids{2402, 257}));
  EXPECT_EQ(view.prompt_token_ids, (Ids{7454}));
  EXPECT_EQ(view.choices[0].stopped_at, "\n");
}

// An echoed prompt begins with a token that has no probability, and that is no fault.
TEST(CompletionsView, FirstEchoedTokenIsUnknown) {
  DialectSample sample = SampleNamed("completion");
  sample.call.request = R"({"model":"m","prompt":"Once","echo":true,"logprobs":0})";
  const ModelView view = ViewWith(
      sample,
      R"({"model":"m","choices":[{"index":0,"text":"Once upon","finish_reason":"length","logprobs":{
      "tokens":["Once"," upon"],"token_logprobs":[null,-0.5],"top_logprobs":[null,{}],"text_offset":[0,4]}}]})");
  ASSERT_EQ(view.choices[0].logprobs.tokens.size(), 2u);
  EXPECT_TRUE(view.choices[0].logprobs.tokens[0].chosen.censored);
  EXPECT_EQ(view.choices[0].logprobs.tokens[1].chosen.logprob, -0.5);
  EXPECT_TRUE(view.anomalies.empty());
}

TEST(CompletionsView, PartsOfACharacterAreBytes) {
  const ModelView view =
      ViewWith(SampleNamed("completion"),
               R"({"model":"m","choices":[{"index":0,"text":"😊","finish_reason":"stop","logprobs":{
      "tokens":["bytes:\\xf0\\x9f","bytes:\\x98","bytes:\\x8a"],"token_logprobs":[-1,-1,-1]}}]})");
  const LogprobSeries& series = view.choices[0].logprobs;
  ASSERT_EQ(series.tokens.size(), 3u);
  EXPECT_EQ(*series.tokens[0].chosen.bytes + *series.tokens[1].chosen.bytes +
                *series.tokens[2].chosen.bytes,
            "😊");
}

// llama.cpp answers here in the form of a chat.
TEST(CompletionsView, ChatStyleLogprobsAreRead) {
  const ModelView view = ViewWith(
      SampleNamed("completion"),
      R"({"model":"m","choices":[{"index":0,"text":"a","finish_reason":"stop","logprobs":{"content":[
      {"id":64,"token":"a","bytes":[97],"logprob":-0.5,"top_logprobs":[]}]}}],
      "timings":{"predicted_ms":81.25,"cache_n":0}})");
  EXPECT_EQ(view.choices[0].logprobs.tokens[0].chosen.id, 64);
  EXPECT_EQ(view.facts, (Tags{{"timings.predicted_ms", "81.25"}, {"timings.cache_n", "0"}}));
}

TEST(CompletionsView, SeveralPromptsHaveAChoiceEach) {
  DialectSample sample = SampleNamed("completion_stream");
  sample.call.request = R"({"model":"m","stream":true,"prompt":["a",[1,2,3]]})";
  const auto chunk = [](int index) {
    return R"(data: {"id":"c","model":"m","choices":[{"index":)" + std::to_string(index) +
           R"(,"text":"x","finish_reason":"stop"}]})" + "\n\n";
  };
  EXPECT_EQ(ViewWith(sample, chunk(0)).end_detail, "no_terminal_event");
  const ModelView view = ViewWith(sample, chunk(1) + chunk(0));
  EXPECT_EQ(view.end_state, EndState::kComplete);
  EXPECT_TRUE(Has(view.anomalies, "missing_done"));
  EXPECT_EQ(view.choices.size(), 2u);
  EXPECT_EQ(view.messages[1].text, "[3 token ids]");
}

TEST(EmbeddingsView, VectorsAreCountedNotKept) {
  const ModelView view = View(SampleNamed("embeddings"));
  EXPECT_EQ(view.facts, (Tags{{"embeddings", "2"}, {"dimensions", "3"}}));
  EXPECT_EQ(view.usage.prompt_tokens, 4);
  EXPECT_EQ(view.usage.completion_tokens, std::nullopt);
  ASSERT_EQ(view.messages.size(), 2u);
  EXPECT_EQ(view.messages[1].text, "policy");
  EXPECT_TRUE(Has(ViewWith(SampleNamed("embeddings"), "{}").anomalies, "no_embeddings"));
}

// ---- what servers add to chats

const ChatCall kDocument = {.request = R"({"model":"m","logprobs":true,"messages":[]})",
                            .headers = {{"content-type", "application/json"}}};

ModelView ViewOf(std::string_view members) {
  return View(R"({"id":"c","model":"m",)" + std::string(members) + "}", kDocument);
}

TEST(CompatibleServers, PromptsTokensAndLogprobsOfVllmAreKept) {
  const ModelView view = ViewOf(
      R"("prompt_token_ids":[5,791],"prompt_logprobs":[null,{"12":{"logprob":-0.25,"rank":1,
      "decoded_token":"A"},"791":{"logprob":-1.5,"rank":3,"decoded_token":"The"}}],
      "choices":[{"index":0,"finish_reason":"stop","stop_reason":128009,"token_ids":[64],
      "message":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-0.5,"bytes":[97]}]}}])");
  EXPECT_EQ(view.prompt_token_ids, (Ids{5, 791}));
  ASSERT_EQ(view.prompt_logprobs.tokens.size(), 2u);
  EXPECT_TRUE(view.prompt_logprobs.tokens[0].chosen.censored);
  EXPECT_EQ(view.prompt_logprobs.tokens[0].chosen.id, 5);
  EXPECT_EQ(view.prompt_logprobs.tokens[1].chosen.token, "The");
  EXPECT_EQ(view.prompt_logprobs.tokens[1].top.size(), 2u);
  EXPECT_EQ(view.choices[0].token_ids, (Ids{64}));
  EXPECT_EQ(view.choices[0].stopped_at, "128009");
  EXPECT_TRUE(view.anomalies.empty());
}

TEST(CompatibleServers, PromptWhoseListsDisagreeIsMisaligned) {
  const ModelView view =
      ViewOf(R"("prompt_token_ids":[5],"prompt_logprobs":[null,null],"choices":[])");
  EXPECT_TRUE(Has(view.anomalies, "prompt_misaligned:ids=1,logprobs=2"));
}

TEST(CompatibleServers, WhatSglangMatchedIsKept) {
  const ModelView view = ViewOf(
      R"("choices":[{"index":0,"finish_reason":"stop","matched_stop":"###","message":{"content":null}}],
      "meta_info":{"e2e_latency":0.5,"weight_version":"v2"})");
  EXPECT_EQ(view.choices[0].stopped_at, "###");
  EXPECT_EQ(view.facts,
            (Tags{{"meta_info.e2e_latency", "0.5"}, {"meta_info.weight_version", "v2"}}));
}

TEST(CompatibleServers, ProbabilitiesOfLlamaCppBecomeLogprobs) {
  const ModelView view = ViewOf(
      R"("choices":[{"index":0,"finish_reason":"stop","message":{"content":"a"},"logprobs":{"content":[
      {"id":64,"token":"a","bytes":[97],"prob":0.5,"top_probs":[{"id":64,"token":"a","prob":0.5},
      {"id":65,"token":"b","prob":0}]}]}}],"__verbose":{"generation_settings":{"seed":4294967295,
      "samplers":["top_k","temperature"]},"prompt":"long"})");
  const TokenLogprob& token = view.choices[0].logprobs.tokens[0];
  EXPECT_DOUBLE_EQ(token.chosen.logprob, std::log(0.5));
  EXPECT_TRUE(token.top[1].censored);
  EXPECT_TRUE(Has(view.anomalies, "post_sampling_probs"));
  EXPECT_EQ(view.facts, (Tags{{"generation_settings.seed", "4294967295"},
                              {"generation_settings.samplers[0]", "top_k"},
                              {"generation_settings.samplers[1]", "temperature"}}));
}

TEST(CompatibleServers, FilterResultsOfAzureAreFacts) {
  const ModelView view = ViewOf(
      R"("prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}],
      "choices":[{"index":0,"finish_reason":"stop","message":{"content":"a"}}])");
  ASSERT_EQ(view.facts.size(), 2u);
  EXPECT_EQ(view.facts[1].first, "prompt_filter_results[0].content_filter_results.hate.filtered");
}

TEST(CompatibleServers, FactsAreBounded) {
  std::string many = R"("timings":{"a":")" + std::string(5000, 'x') + "\"";
  for (int i = 0; i < 500; ++i) many += ",\"k" + std::to_string(i) + "\":1";
  const ModelView view = ViewOf(many + R"(},"choices":[])");
  EXPECT_EQ(view.facts.size(), 96u);
  EXPECT_EQ(view.facts[0].second.size(), 256u);
}

TEST(CompatibleServers, AzureDeploymentIsTheAskedModel) {
  ChatCall call = kDocument;
  call.provider = "azure";
  call.endpoint = "https://r.openai.azure.com/openai/deployments/refunds/chat/completions";
  call.request = R"({"messages":[]})";
  EXPECT_EQ(View(R"({"model":"gpt-4o-2024-11-20","choices":[]})", call).asked_model, "refunds");
}

}  // namespace
}  // namespace reenact::schema
