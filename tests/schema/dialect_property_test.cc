// What holds in every dialect: of cuts, of prefixes, of streams and whole answers, of keys.

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "schema/dialect.h"
#include "schema/request_key.h"
#include "tests/schema/dialect_samples.h"

namespace reenact::schema {
namespace {

TEST(DialectProperty, SamplesAreReadWithoutAnAnomaly) {
  for (const DialectSample& sample : DialectSamples()) {
    const ModelView view = View(sample);
    EXPECT_EQ(view.dialect, sample.dialect) << sample.name;
    EXPECT_EQ(view.end_state, EndState::kComplete) << sample.name << "\n" << Describe(view);
    // Google's streams end their lines so, and the first chunk of a chat is not this one's.
    for (const std::string& anomaly : view.anomalies) EXPECT_EQ(anomaly, "crlf") << sample.name;
    EXPECT_FALSE(view.asked_model.empty()) << sample.name;
    EXPECT_FALSE(view.served_model.empty()) << sample.name;
    EXPECT_FALSE(view.messages.empty() && sample.name != "chat_stream") << sample.name;
    const bool embeds = sample.dialect == ModelDialect::kOpenAiEmbeddings;
    EXPECT_EQ(view.choices.size(), embeds ? 0u : 1u) << sample.name;
    if (!embeds) {
      EXPECT_FALSE(view.choices[0].finish_reason.empty()) << sample.name;
    }
  }
}

TEST(DialectProperty, TheEndpointTellsTheDialect) {
  for (const DialectSample& sample : DialectSamples()) {
    const CallKind kind = ClassifyCall(
        {.method = "POST", .target = sample.call.endpoint, .body = sample.call.request});
    EXPECT_EQ(kind.boundary, Boundary::kModel) << sample.name;
    EXPECT_EQ(kind.dialect, sample.dialect) << sample.name;
  }
}

// cases/reports.md 1: whatever the network's reads were, the answer is the same.
TEST(DialectProperty, CutsChangeNothing) {
  for (const DialectSample& sample : DialectSamples()) {
    const std::string whole = Describe(View(sample));
    for (size_t cut = 1; cut < sample.body.size(); ++cut) {
      ASSERT_EQ(Describe(ViewModelCall(MakeEvent(sample.body, sample.call, cut))), whole)
          << sample.name << " cut at " << cut;
    }
  }
}

// The shortest beginning that is the whole answer: the rest is what a client need not wait for.
size_t NeededSize(const DialectSample& sample) {
  size_t size = sample.body.find_last_not_of(" \r\n") + 1;
  const std::string_view body = std::string_view(sample.body).substr(0, size);
  // The finish reason ends a chat or a completion, with the end mark or without.
  if (body.ends_with("data: [DONE]")) size = body.rfind("\n\ndata: [DONE]");
  // So does the reason of a message: its last event adds nothing.
  const size_t stop = body.rfind("\n\nevent: message_stop");
  if (stop != std::string_view::npos) size = stop;
  if (sample.name == "gemini_list") size = body.rfind('}') + 1;
  return size;
}

// cases/reports.md: a record that was cut never looks complete.
TEST(DialectProperty, PrefixesNeverLookComplete) {
  for (const DialectSample& sample : DialectSamples()) {
    const size_t needed = NeededSize(sample);
    for (size_t size = 0; size < needed; ++size) {
      const ModelView view = ViewWith(sample, sample.body.substr(0, size));
      ASSERT_NE(view.end_state, EndState::kComplete)
          << sample.name << " after " << size << " of " << needed << "\n"
          << Describe(view);
    }
    EXPECT_EQ(ViewWith(sample, sample.body.substr(0, needed)).end_state, EndState::kComplete)
        << sample.name;
  }
}

// The half that is the answer, without what framing alone decides.
std::string AnswerOf(ModelView view) {
  view.stream = false;
  view.end_marker = false;
  view.messages.clear();
  view.anomalies.clear();
  return Describe(view);
}

TEST(DialectProperty, AStreamSaysWhatTheWholeAnswerSays) {
  const auto same = [](std::string_view whole, std::string_view stream) {
    EXPECT_EQ(AnswerOf(View(SampleNamed(whole))), AnswerOf(View(SampleNamed(stream)))) << stream;
  };
  same("response", "response_stream");
  same("message", "message_stream");
  same("gemini", "gemini_events");
  same("gemini", "gemini_list");
  same("ollama", "ollama_stream");
}

// cases/replay.md 4
TEST(DialectProperty, EveryRequestMatchesItselfAndNoOther) {
  const auto request_of = [](const DialectSample& sample, const std::string& endpoint) {
    return CallRequest{Boundary::kModel, sample.call.provider, endpoint, sample.call.request};
  };
  const auto on_loopback = [](const std::string& endpoint) {
    return "http://127.0.0.1:4001" + endpoint.substr(endpoint.find('/', endpoint.find("//") + 2));
  };
  for (const DialectSample& a : DialectSamples()) {
    const RequestKey key = KeyOf(request_of(a, a.call.endpoint));
    EXPECT_EQ(key, KeyOf(request_of(a, on_loopback(a.call.endpoint)))) << a.name;
    EXPECT_EQ(key.basis, KeyBasis::kCanonicalJson);
    for (const DialectSample& b : DialectSamples()) {
      if (&a == &b) continue;
      EXPECT_NE(key, KeyOf(request_of(b, b.call.endpoint))) << a.name << " and " << b.name;
    }
  }
}

TEST(DialectProperty, DamagedBytesAreReadToAnEnd) {
  std::mt19937 random(3);
  for (const DialectSample& sample : DialectSamples()) {
    for (int i = 0; i < 200; ++i) {
      std::string body = sample.body;
      for (int k = 0; k < 3; ++k) body[random() % body.size()] = static_cast<char>(random());
      const ModelView view = ViewWith(sample, body);
      ASSERT_LE(view.anomalies.size(), 300u);
      ASSERT_EQ(Describe(view),
                Describe(ViewModelCall(MakeEvent(body, sample.call, random() % body.size()))));
    }
  }
}

TEST(DialectProperty, AnErrorStatusIsAProviderError) {
  for (const DialectSample& sample : DialectSamples()) {
    const ModelView view =
        ViewWith(sample, R"({"error":{"message":"busy","type":"overloaded"}})", 529);
    EXPECT_EQ(DescribeEnd(view.end_state, view.end_detail), "provider_error:overloaded")
        << sample.name;
    EXPECT_EQ(view.error_message, "busy") << sample.name;
    EXPECT_TRUE(view.choices.empty()) << sample.name;
    // cases/reports.md 68: whatever stands in between may answer with a page.
    EXPECT_EQ(ViewWith(sample, "<html>502</html>", 502).error_kind, "http_502") << sample.name;
  }
}

}  // namespace
}  // namespace reenact::schema
