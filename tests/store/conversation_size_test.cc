// What a conversation costs on disk: 40 turns of an agent with tools, streamed answers, and the
// whole history sent again with each request, against the same exchanges as VCR-style YAML and as
// JSONL.

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "store/writer/segment_writer.h"
#include "tests/store/segment_samples.h"
#include "tests/support/segment_oracle.h"
#include "tests/support/temp_folder.h"

namespace reenact::store {
namespace {

using namespace reenact::testing;  // NOLINT(google-build-using-namespace)

constexpr int kTurns = 40;
constexpr double kSmallerThanText = 15;

// English-like text: words drawn with the skew of a language, the same on every machine.
class Prose {
 public:
  Prose() {
    for (int i = 0; i < 3000; ++i) {
      std::string word;
      for (uint32_t size = 2 + random_() % 8; word.size() < size;) {
        word += static_cast<char>('a' + random_() % 26);
      }
      words_.push_back(word);
    }
  }

  std::string Word() {
    const double at = static_cast<double>(random_() % 100000) / 100000.0;
    return words_[static_cast<size_t>(2999 * at * at * at)];
  }

  std::string Text(size_t size) {
    std::string text;
    while (text.size() < size) text += Word() + (random_() % 12 == 0 ? ". " : " ");
    text.resize(size);
    return text;
  }

  std::string Hex(int digits) {
    std::string hex;
    while (digits-- > 0) hex += "0123456789abcdef"[random_() % 16];
    return hex;
  }

  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

 private:
  std::mt19937 random_{20240806};
  std::vector<std::string> words_;
};

class Agent {
 public:
  Agent() {
    system_ = prose_.Text(3000);
    for (int i = 0; i < 6; ++i) {
      tools_ += (i == 0 ? "" : ",");
      tools_ +=
          R"({"type":"function","function":{"name":"tool_)" + std::to_string(i) +
          R"(","description":")" + prose_.Text(220) +
          R"(","parameters":{"type":"object","properties":{"id":{"type":"string","description":")" +
          prose_.Text(80) + R"("},"limit":{"type":"integer"}},"required":["id"]}}})";
    }
    messages_ = R"({"role":"system","content":")" + system_ + R"("})";
    messages_ += R"(,{"role":"user","content":")" + prose_.Text(300) + R"("})";
  }

  std::vector<schema::Event> Converse() {
    for (int turn = 0; turn < kTurns; ++turn) {
      const std::string call_id = "call_" + prose_.Hex(24);
      const std::string arguments = R"({\"id\":\")" + prose_.Hex(8) + R"(\",\"limit\":10})";
      const std::string answer = prose_.Text(700);
      AskModel(answer, call_id, arguments);
      messages_ += R"(,{"role":"assistant","content":")" + answer + R"(","tool_calls":[{"id":")" +
                   call_id + R"(","type":"function","function":{"name":"tool_)" +
                   std::to_string(turn % 6) + R"(","arguments":")" + arguments + R"("}}]})";
      const std::string result = CallTool(turn, arguments);
      messages_ +=
          R"(,{"role":"tool","tool_call_id":")" + call_id + R"(","content":")" + result + R"("})";
    }
    return std::move(events_);
  }

 private:
  schema::Event& NewEvent(schema::Boundary boundary, const std::string& name) {
    schema::Event event = SampleEvent(events_.size() * 2 + 1);
    event.boundary = boundary;
    event.name = name;
    event.exchange.clear();
    event.meta.clear();
    event.started.wall_ns += static_cast<int64_t>(events_.size()) * 1'234'567'891;
    events_.push_back(event);
    return events_.back();
  }

  void AddRead(schema::Event* event, const std::string& bytes) {
    const int64_t before = event->exchange.empty() ? 0 : event->exchange.back().offset_ns;
    schema::ExchangeItem item;
    item.offset_ns = before + 9'000'000 + prose_.Below(12'000'000);
    item.size = bytes.size();
    event->exchange.push_back(item);
    event->response.bytes += bytes;
  }

  void AskModel(const std::string& answer, const std::string& call_id,
                const std::string& arguments) {
    schema::Event& event = NewEvent(schema::Boundary::kModel, "chat");
    event.request.bytes =
        R"({"model":"gpt-4o-2024-08-06","temperature":0,"stream":true,"tools":[)" + tools_ +
        R"(],"messages":[)" + messages_ + "]}";
    event.response.bytes.clear();
    schema::ExchangeItem head;
    head.kind = schema::ExchangeItemKind::kHead;
    head.offset_ns = 310'000'000 + prose_.Below(90'000'000);
    head.status = 200;
    head.headers = {{"content-type", "text/event-stream; charset=utf-8"},
                    {"openai-processing-ms", std::to_string(200 + prose_.Below(400))},
                    {"x-request-id", "req_" + prose_.Hex(32)},
                    {"x-ratelimit-remaining-requests", std::to_string(9000 + prose_.Below(999))}};
    event.exchange.push_back(head);
    const std::string start =
        R"(data: {"id":"chatcmpl-)" + prose_.Hex(29) +
        R"(","object":"chat.completion.chunk","created":17230)" +
        std::to_string(10000 + prose_.Below(89999)) +
        R"(,"model":"gpt-4o-2024-08-06","system_fingerprint":"fp_3aa7262c27","choices":[{"index":0,"delta":)";
    const std::string end = R"(,"logprobs":null,"finish_reason":null}]})"
                            "\n\n";
    // About a token a read.
    for (size_t at = 0; at < answer.size(); at += 5) {
      AddRead(&event, start + R"({"content":")" + answer.substr(at, 5) + R"("})" + end);
    }
    AddRead(&event, start + R"({"tool_calls":[{"index":0,"id":")" + call_id +
                        R"(","function":{"arguments":")" + arguments + R"("}}]})" + end);
    AddRead(&event, "data: [DONE]\n\n");
  }

  std::string CallTool(int turn, const std::string& arguments) {
    schema::Event& event = NewEvent(schema::Boundary::kTool, "tool_" + std::to_string(turn % 6));
    event.provider.clear();
    event.endpoint.clear();
    event.request_headers.clear();
    event.request.bytes = arguments;
    event.response.bytes.clear();
    std::string result;
    for (int row = 0; row < 12; ++row) {
      result += R"({\"order\":\")" + prose_.Hex(10) + R"(\",\"state\":\"shipped\",\"note\":\")" +
                prose_.Text(60) + R"(\"},)";
    }
    AddRead(&event, result);
    return result;
  }

  Prose prose_;
  std::string system_;
  std::string tools_;
  std::string messages_;
  std::vector<schema::Event> events_;
};

// As a JSON string, and as YAML's double-quoted one: the escapes of both are the same here.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// What a provider behind a CDN sends beside the few headers that are worth keeping; a cassette
// holds all.
constexpr const char* kFurtherHeaders[][2] = {
    {"Date", "Tue, 06 Aug 2024 10:00:00 GMT"},
    {"Transfer-Encoding", "chunked"},
    {"Connection", "keep-alive"},
    {"access-control-expose-headers", "X-Request-ID"},
    {"openai-organization", "user-abcdefghijklmnopqrstuvwx"},
    {"openai-version", "2020-10-01"},
    {"strict-transport-security", "max-age=15552000; includeSubDomains; preload"},
    {"x-ratelimit-limit-requests", "10000"},
    {"x-ratelimit-limit-tokens", "2000000"},
    {"x-ratelimit-remaining-tokens", "1999712"},
    {"x-ratelimit-reset-requests", "6ms"},
    {"x-ratelimit-reset-tokens", "8ms"},
    {"CF-Cache-Status", "DYNAMIC"},
    {"X-Content-Type-Options", "nosniff"},
    {"Server", "cloudflare"},
    {"CF-RAY", "8aee2ff61f0fc42d-EWR"},
    {"alt-svc", "h3=\":443\"; ma=86400"},
};

// All that the segment holds of an event, the times of its reads among it.
std::string ToJsonLine(const schema::Event& event) {
  std::string line = R"({"name":)" + Quoted(event.name) + R"(,"started":)" +
                     std::to_string(event.started.wall_ns) + R"(,"request":)" +
                     Quoted(event.request.bytes) + R"(,"response":)" +
                     Quoted(event.response.bytes) + R"(,"reads":[)";
  for (const schema::ExchangeItem& item : event.exchange) {
    for (const auto& [key, value] : item.headers) line += Quoted(key) + ":" + Quoted(value) + ",";
    line += R"({"at_ns":)" + std::to_string(item.offset_ns) + R"(,"size":)" +
            std::to_string(item.size) + "},";
  }
  return line + "]}\n";
}

// The shape of a cassette of Ruby's or Python's VCR: no times, but every header.
std::string ToVcrYaml(const schema::Event& event) {
  std::string yaml =
      "- request:\n    method: post\n    uri: " + event.endpoint +
      "\n    body:\n      encoding: UTF-8\n      string: " + Quoted(event.request.bytes) +
      "\n    headers:\n      Content-Type:\n      - application/json\n  response:\n"
      "    status:\n      code: 200\n      message: OK\n    headers:\n";
  for (const schema::ExchangeItem& item : event.exchange) {
    for (const auto& [key, value] : item.headers) {
      yaml += "      " + key + ":\n      - " + value + "\n";
    }
  }
  if (event.boundary == schema::Boundary::kModel) {
    for (const auto& [key, value] : kFurtherHeaders) {
      yaml += std::string("      ") + key + ":\n      - " + value + "\n";
    }
  }
  return yaml + "    body:\n      encoding: UTF-8\n      string: " + Quoted(event.response.bytes) +
         "\n  recorded_at: Tue, 06 Aug 2024 10:00:00 GMT\n";
}

TEST(ConversationSize, FortyTurnsAreFifteenTimesSmallerThanText) {
  const std::vector<schema::Event> events = Agent().Converse();
  size_t jsonl = 0;
  size_t yaml = 0;
  for (const schema::Event& event : events) {
    jsonl += ToJsonLine(event).size();
    yaml += ToVcrYaml(event).size();
  }
  TempFolder folder;
  const SegmentOptions options = SampleOptions(folder.File("s.db"));
  auto writer = OpenWriter(options);
  ASSERT_EQ(writer->AddRun(SampleRun()), WriteCode::kOk);
  for (const schema::Event& event : events) {
    ASSERT_EQ(writer->AddEvent(event), WriteCode::kOk);
    ASSERT_EQ(writer->Commit(), WriteCode::kOk);
  }
  ASSERT_EQ(writer->Seal(""), WriteCode::kOk);
  const double stored = static_cast<double>(writer->size_bytes());
  std::printf("%d turns: %.0f bytes stored; JSONL %zu (%.1f times), VCR YAML %zu (%.1f times)\n",
              kTurns, stored, jsonl, static_cast<double>(jsonl) / stored, yaml,
              static_cast<double>(yaml) / stored);
  EXPECT_GE(static_cast<double>(jsonl), kSmallerThanText * stored);
  EXPECT_GE(static_cast<double>(yaml), kSmallerThanText * stored);

  const StoredSegment segment = ReadSegment(options.path);
  ASSERT_EQ(segment.damage, "");
  ASSERT_EQ(segment.events.size(), events.size());
  for (const schema::Event& event : events) {
    EXPECT_TRUE(segment.events.at(event.sequence).request.bytes == event.request.bytes);
    EXPECT_TRUE(segment.events.at(event.sequence).response.bytes == event.response.bytes);
    EXPECT_EQ(segment.events.at(event.sequence).exchange, event.exchange);
  }
  for (const auto& [codec, count] : segment.codecs)
    std::printf("codec %ld: %d bodies\n", codec, count);
}

}  // namespace
}  // namespace reenact::store
