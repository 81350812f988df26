#include "tests/tools/sample_runs.h"

#include <utility>

namespace reenact::tests {
namespace {

using schema::Boundary;
using schema::EndState;
using std::string_literals::operator""s;

constexpr int64_t kMillisecond = 1'000'000;
constexpr std::string_view kAlias = "gpt-4o";
constexpr std::string_view kTemplate = "You approve refunds. Today is {today}. Policy: {policy}";

std::string Number(double value) {
  std::string text = std::to_string(value);
  return text;
}

std::string Frame(std::string_view served, std::string_view fingerprint,
                  const std::string& choice) {
  std::string out =
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":")";
  out += served;
  if (!fingerprint.empty()) out += R"(","system_fingerprint":")" + std::string(fingerprint);
  return out + R"(","choices":[)" + choice + "]}\n\n";
}

void AppendEnd(std::string_view served, std::string_view fingerprint, const std::string& reason,
               std::vector<std::string>* frames) {
  frames->push_back(
      Frame(served, fingerprint, R"({"index":0,"delta":{},"finish_reason":")" + reason + "\"}"));
  frames->push_back(
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":412,\"completion_tokens\":33,"
      "\"total_tokens\":445}}\n\n");
  frames->push_back("data: [DONE]\n\n");
}

RunBuilder RefundRun(int number, std::string_view version) {
  RunBuilder builder(number);
  builder.Service("refund-agent", "POST /refund");
  builder.run()->run.input.bytes = R"({"order_id":"A-1009","reason":"broken"})";
  builder.run()->run.tags = {{"customer", "acme"}, {"region", "eu"}};
  builder.run()->run.process = {{"host", "web-1"}, {"pid", "4711"}};
  builder.Component("prompt_template", "refund", std::string(version), std::string(kTemplate));
  builder.Component("tool_schema", "lookup_order", "3", R"({"name":"lookup_order"})");
  return builder;
}

}  // namespace

RunBuilder::RunBuilder(int number) {
  schema::Run& run = run_.run;
  run.started.wall_ns = kSampleStartNs + number * int64_t{60'000} * kMillisecond;
  run.started.monotonic_ns = 1000 * kMillisecond;
  std::array<uint8_t, 10> entropy{};
  entropy.fill(static_cast<uint8_t>(17 * number + 3));
  run.id = schema::MakeUlid(run.started.wall_ns / kMillisecond, entropy);
  run_.state = EndState::kIncomplete;
}

RunBuilder& RunBuilder::Service(std::string service, std::string entry) {
  run_.run.service = std::move(service);
  run_.run.entry = std::move(entry);
  return *this;
}

RunBuilder& RunBuilder::Component(std::string kind, std::string name, std::string version,
                                  std::string content) {
  schema::Component component;
  component.kind = std::move(kind);
  component.name = std::move(name);
  component.version = std::move(version);
  component.content.bytes = std::move(content);
  component.at = run_.run.started;
  run_.components.push_back(std::move(component));
  return *this;
}

schema::Event& RunBuilder::AddEvent(Boundary boundary, std::string name) {
  schema::Event event;
  event.sequence = 2 * run_.events.size() + 1;
  event.end_sequence = event.sequence + 1;
  event.run = run_.run.id;
  event.scope = scope_;
  event.boundary = boundary;
  event.name = std::move(name);
  at_ns_ += 10 * kMillisecond;
  event.started = {run_.run.started.wall_ns + at_ns_, run_.run.started.monotonic_ns + at_ns_};
  event.end_state = EndState::kComplete;
  run_.events.push_back(std::move(event));
  return run_.events.back();
}

RunBuilder& RunBuilder::Clock(std::string name, int64_t wall_ns) {
  AddEvent(Boundary::kClock, std::move(name)).value = static_cast<uint64_t>(wall_ns);
  return *this;
}

RunBuilder& RunBuilder::Seed(std::string name, uint64_t seed) {
  AddEvent(Boundary::kRandom, std::move(name)).value = seed;
  return *this;
}

RunBuilder& RunBuilder::Tool(std::string name, std::string arguments, std::string result) {
  schema::Event& event = AddEvent(Boundary::kTool, std::move(name));
  event.request.bytes = std::move(arguments);
  event.exchange.push_back({.kind = schema::ExchangeItemKind::kBytes,
                            .offset_ns = 2 * kMillisecond,
                            .size = result.size()});
  event.response.bytes = std::move(result);
  event.elapsed_ns = 2 * kMillisecond;
  return *this;
}

RunBuilder& RunBuilder::Retrieval(std::string name, std::string query, std::string documents) {
  Tool(std::move(name), std::move(query), std::move(documents));
  last().boundary = Boundary::kRetrieval;
  return *this;
}

RunBuilder& RunBuilder::Model(std::string request, const std::vector<std::string>& frames) {
  schema::Event& event = AddEvent(Boundary::kModel, "chat");
  event.provider = "openai";
  event.endpoint = "http://127.0.0.1:8089/v1/chat/completions";
  event.request.bytes = std::move(request);
  event.exchange.push_back({.kind = schema::ExchangeItemKind::kHead,
                            .offset_ns = 80 * kMillisecond,
                            .status = 200,
                            .headers = {{"content-type", "text/event-stream"}}});
  int64_t offset = 80 * kMillisecond;
  for (const std::string& frame : frames) {
    offset += 5 * kMillisecond;
    event.exchange.push_back(
        {.kind = schema::ExchangeItemKind::kBytes, .offset_ns = offset, .size = frame.size()});
    event.response.bytes += frame;
  }
  event.elapsed_ns = offset;
  at_ns_ += offset;
  return *this;
}

RunBuilder& RunBuilder::Scope(std::string scope) {
  scope_ = std::move(scope);
  return *this;
}

RunBuilder& RunBuilder::End(EndState state, std::string output, std::string detail) {
  schema::RunEnd end;
  end.run = run_.run.id;
  end.at = {run_.run.started.wall_ns + at_ns_ + 10 * kMillisecond,
            run_.run.started.monotonic_ns + at_ns_ + 10 * kMillisecond};
  end.state = state;
  end.detail = std::move(detail);
  end.output.bytes = std::move(output);
  run_.end = std::move(end);
  run_.state = state;
  return *this;
}

std::string ChatRequest(std::string_view model, std::string_view system, std::string_view user) {
  return R"({"model":")" + std::string(model) +
         R"(","stream":true,"temperature":0,"logprobs":true,"top_logprobs":2,"messages":[)" +
         R"({"role":"system","content":")" + std::string(system) +
         R"("},{"role":"user","content":")" + std::string(user) + "\"}]}";
}

std::vector<std::string> ChatFrames(std::string_view served, std::string_view fingerprint,
                                    const std::vector<SampleToken>& tokens) {
  std::vector<std::string> frames;
  for (const SampleToken& token : tokens) {
    const auto alternative = [](const std::string& text, double logprob) {
      return R"({"token":")" + text + R"(","logprob":)" + Number(logprob) + R"(,"bytes":null})";
    };
    std::string choice = R"({"index":0,"delta":{"content":")" + token.text +
                         R"("},"logprobs":{"content":[{"token":")" + token.text +
                         R"(","logprob":)" + Number(token.logprob) +
                         R"(,"bytes":null,"top_logprobs":[)" +
                         alternative(token.text, token.logprob);
    if (!token.second.empty()) choice += "," + alternative(token.second, token.second_logprob);
    choice += R"(]}]},"finish_reason":null})";
    frames.push_back(Frame(served, fingerprint, choice));
  }
  AppendEnd(served, fingerprint, "stop", &frames);
  return frames;
}

std::vector<std::string> ToolCallFrames(std::string_view served, std::string_view fingerprint,
                                        std::string_view name, std::string_view arguments) {
  std::string escaped;
  for (const char c : arguments) {
    if (c == '"') escaped += '\\';
    escaped += c;
  }
  std::vector<std::string> frames;
  frames.push_back(Frame(
      served, fingerprint,
      R"({"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a7","type":"function","function":{"name":")" +
          std::string(name) + R"(","arguments":")" + escaped + R"("}}]},"finish_reason":null})"));
  AppendEnd(served, fingerprint, "tool_calls", &frames);
  return frames;
}

schema::RecordedRun WrongRefund() {
  constexpr std::string_view kServed = "gpt-4o-2024-11-20";
  RunBuilder builder = RefundRun(1, "v14");
  builder.run()->run.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  builder.Clock("today", kSampleStartNs + 60'000 * kMillisecond);
  builder.Seed("draw", 18446744073709551615u);
  builder.Retrieval("kb", "refund policy", R"(["refunds up to 150 are automatic"])");
  builder.Model(ChatRequest(kAlias, "You approve refunds. Today is 2026-03-01.", "order A-1009"),
                ToolCallFrames(kServed, "fp_b", "lookup_order", R"({"order_id":"A-1009"})"));
  builder.Scope("call_a7");
  builder.Tool("lookup_order", R"({"order_id":"A-1009"})", R"({"total":120,"currency":"EUR"})");
  builder.Scope("");
  builder.Model(
      ChatRequest(kAlias, "You approve refunds. Today is 2026-03-01.", "the order costs 120"),
      ChatFrames(kServed, "fp_b",
                 {{.text = "Refund"},
                  {.text = " 1,200", .logprob = -0.68, .second = " 120", .second_logprob = -0.7},
                  {.text = " EUR"}}));
  builder.last().in_flight = 3;
  builder.End(EndState::kComplete, R"({"refund":1200})");
  return builder.Build();
}

schema::RecordedRun RightRefund() {
  constexpr std::string_view kServed = "gpt-4o-2024-08-06";
  RunBuilder builder = RefundRun(0, "v13");
  builder.Clock("today", kSampleStartNs);
  builder.Seed("draw", 7);
  builder.Retrieval("kb", "refund policy", R"(["refunds up to 150 are automatic"])");
  builder.Model(ChatRequest(kAlias, "You approve refunds. Today is 2026-03-01.", "order A-1009"),
                ToolCallFrames(kServed, "fp_a", "lookup_order", R"({"order_id":"A-1009"})"));
  builder.Scope("call_a7");
  builder.Tool("lookup_order", R"({"order_id":"A-1009"})", R"({"total":120,"currency":"EUR"})");
  builder.Scope("");
  builder.Model(
      ChatRequest(kAlias, "You approve refunds. Today is 2026-03-01.", "the order costs 120"),
      ChatFrames(kServed, "fp_a",
                 {{.text = "Refund"},
                  {.text = " 120", .logprob = -0.2, .second = " 1,200", .second_logprob = -1.9},
                  {.text = " EUR"}}));
  builder.End(EndState::kComplete, R"({"refund":120})");
  return builder.Build();
}

schema::RecordedRun BrokenStream() {
  RunBuilder builder(2);
  builder.Service("refund-agent", "POST /refund");
  std::vector<std::string> frames = ChatFrames("gpt-4o-2024-11-20", "", {{.text = "Ref"}});
  frames.resize(1);
  builder.Model(ChatRequest("gpt-4o-2024-11-20", "You approve refunds.", "order B-2"), frames);
  builder.last().exchange.insert(builder.last().exchange.begin(),
                                 {{.kind = schema::ExchangeItemKind::kHead,
                                   .offset_ns = 1 * kMillisecond,
                                   .status = 429,
                                   .headers = {{"retry-after", "2"}}},
                                  {.kind = schema::ExchangeItemKind::kAttemptEnd,
                                   .offset_ns = 2 * kMillisecond,
                                   .detail = "rate_limit_exceeded"}});
  builder.last().end_state = EndState::kReset;
  builder.last().end_detail = "connection reset by peer";
  builder.Tool("lookup_order", R"({"order_id":"B-2"})", "no such order");
  builder.last().end_state = EndState::kError;
  builder.last().end_detail = "no such order";
  builder.End(EndState::kError, "", "the model did not answer");
  schema::Gap gap;
  gap.at = builder.run()->run.started;
  gap.reason = "ring_full";
  gap.count = 3;
  gap.first_sequence = 2;
  gap.last_sequence = 3;
  builder.run()->gaps.push_back(gap);
  return builder.Build();
}

schema::RecordedRun HostileRun() {
  RunBuilder builder(3);
  builder.Service("evil\x1b[2Jservice", "run\xE2\x80\xAE reversed");
  builder.run()->run.tags = {{"title", "\x1b]0;owned\x07"}};
  builder.Tool("name\nwith lines", "\xF0\x9F\x2F", "nul\0 and \x7F and \xC2\x9B"s);
  builder.Model("{\"model\":\"m\x1b[31m\"}", {"data: \xED\xA0\xBD\n\n"});
  builder.End(EndState::kError, "\xFF\xFE", "detail\r\nX");
  return builder.Build();
}

}  // namespace reenact::tests
