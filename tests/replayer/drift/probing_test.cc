#include "replayer/drift/probing.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "replayer/drift/baseline_file.h"

namespace reenact::drift {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

schema::Event Call(const std::string& request) {
  schema::Event call;
  call.boundary = schema::Boundary::kModel;
  call.provider = "openai";
  call.name = "chat";
  call.request.bytes = request;
  return call;
}

schema::ModelView Answer(std::vector<std::string> tokens) {
  schema::ModelView view;
  view.served_model = "m-1";
  view.fingerprint_presence = schema::Presence::kNull;
  view.usage.prompt_tokens = 7;
  schema::TokenLogprob first;
  for (const std::string& token : tokens)
    first.top.push_back({.token = token, .bytes = token, .id = {}, .logprob = -0.5});
  if (!tokens.empty()) first.chosen = first.top.front();
  view.choices.push_back({});
  view.choices.front().logprobs.tokens.push_back(first);
  return view;
}

TEST(ProbeOf, TheSamplersSettingsMakeNoOtherPromptButAnotherMessageDoes) {
  const auto prompt = [](const std::string& request) {
    return ProbeOf(Call(request), Answer({"a"}))->prompt;
  };
  const std::string one = prompt(R"({"model":"m","messages":[{"role":"user","content":"x"}]})");
  EXPECT_EQ(one, prompt(R"({"messages": [{"content":"x", "role":"user"}], "model": "m-2",
                            "seed": 7, "max_tokens": 1, "top_logprobs": 20, "temperature": 0.5})"));
  EXPECT_NE(one, prompt(R"({"model":"m","messages":[{"role":"user","content":"y"}]})"));
  EXPECT_NE(one, prompt(R"({"model":"m","messages":[{"role":"user","content":"x"}],"tools":[]})"));
}

TEST(ProbeOf, ItsSettingsAreThoseOfTheRequest) {
  const auto probe =
      ProbeOf(Call(R"({"temperature":0.5,"top_logprobs":3,"logprobs":true})"), Answer({"a", "b"}));
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->temperature, 0.5);
  EXPECT_EQ(probe->top_count, 3);
  EXPECT_EQ(probe->fingerprint, "(null)");
  EXPECT_EQ(probe->served_model, "m-1");
  EXPECT_EQ(probe->prompt_tokens, 7);
  EXPECT_EQ(probe->top, (analysis::TopTokens{{"a", -0.5}, {"b", -0.5}}));
  EXPECT_FALSE(probe->scaled);
}

TEST(ProbeOf, LogprobsAfterSamplingAreScaled) {
  schema::ModelView view = Answer({"a"});
  view.anomalies = {"post_sampling_probs"};
  EXPECT_TRUE(ProbeOf(Call("{}"), view)->scaled);
}

TEST(ProbeOf, AnAnswerWithoutAlternativesIsNone) {
  EXPECT_FALSE(ProbeOf(Call("{}"), Answer({})));
  EXPECT_FALSE(ProbeOf(Call("{}"), schema::ModelView()));
}

TEST(WindowsOf, CallsOfOneLengthAreAWindowAndOtherSettingsAreCounted) {
  const auto at = [](int64_t seconds, double temperature) {
    return RecordedProbe{seconds * kSecondNs, Probe{.prompt = "p", .temperature = temperature}};
  };
  int64_t left_out = 0;
  const std::vector<Window> windows =
      WindowsOf({at(25, 1), at(3, 1), at(4, 0), at(9, 1), at(21, 1)}, 10 * kSecondNs, &left_out);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].at_wall_ns, 0);
  EXPECT_EQ(windows[0].probes.size(), 2u);
  EXPECT_EQ(windows[1].at_wall_ns, 20 * kSecondNs);
  EXPECT_EQ(windows[1].probes.size(), 2u);
  EXPECT_EQ(left_out, 1);
  EXPECT_TRUE(WindowsOf({}, kSecondNs, &left_out).empty());
}

TEST(BaselineFile, ComesBackAsItWasWithTokensThatAreNoText) {
  BaselineFile file;
  file.target = "http://127.0.0.1:1/v1";
  file.window_ns = 3;
  file.plan = {.model = "m", .prompts = CanaryPrompts(), .top_count = 5, .scaled = true};
  file.baseline = {.name = "canary", .target = "url x", .model = "m", .windows = {}};
  file.baseline.windows.push_back(
      {.at_wall_ns = 9,
       .probes = {{.prompt = "p",
                   .fingerprint = "fp",
                   .top = {{std::string("\xff\x00", 2), -1.25}, {"é", -40}, {"", -9999}}}},
       .failed = 2});
  const auto read = ParseBaseline(BaselineText(file));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(BaselineText(*read), BaselineText(file));
  EXPECT_EQ(read->plan.scaled, true);
  EXPECT_EQ(read->baseline.windows[0].probes[0].top, file.baseline.windows[0].probes[0].top);
  EXPECT_EQ(read->baseline.windows[0].failed, 2);
  EXPECT_EQ(read->plan.prompts.size(), 3u);
}

TEST(BaselineFile, AnotherFileIsRefusedWithItsLine) {
  EXPECT_EQ(ParseBaseline("").status().message(), "there is nothing in it");
  EXPECT_EQ(ParseBaseline("{}").status().message(), "line 1 is not the head of a baseline");
  const std::string text = BaselineText({});
  EXPECT_TRUE(ParseBaseline(text).ok());
  EXPECT_EQ(ParseBaseline(text + "{\"at_wall_ns\":1}\n").status().message(),
            "line 2 lacks a field, or has one of another type");
}

}  // namespace
}  // namespace reenact::drift
