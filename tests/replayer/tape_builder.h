// Tapes by hand, and a program that replays them through a session as the SDK would.

#ifndef REENACT_TESTS_REPLAYER_TAPE_BUILDER_H_
#define REENACT_TESTS_REPLAYER_TAPE_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "replayer/replay_session.h"
#include "schema/record.h"
#include "schema/replay_protocol.h"

namespace reenact::replayer {

// The first request of a tool loop, and the one that follows the tool's answer.
inline constexpr char kUser[] = R"({"model":"m","messages":[{"role":"user","content":"refund?"}]})";
inline constexpr char kAfterTool[] =
    R"({"model":"m","messages":[{"role":"user","content":"refund?"},)"
    R"({"role":"assistant","tool_calls":[{"id":"c1","type":"function",)"
    R"("function":{"name":"lookup","arguments":"{}"}}]},)"
    R"({"role":"tool","tool_call_id":"c1","content":"120"}]})";

// A call for TapeBuilder::Add; what a test does not name has a usual value.
struct CallSpec {
  std::string scope;
  schema::Boundary boundary = schema::Boundary::kModel;
  std::string name = "chat";
  std::string provider = "openai";
  std::string request;
  std::vector<std::string> reads;  // The answer, cut as it arrived.
  schema::EndState end_state = schema::EndState::kComplete;
  std::string end_detail;
  std::string endpoint;  // With one, calls that are no model's keep their provider.

  std::string Provider() const {
    const bool has = boundary == schema::Boundary::kModel || !endpoint.empty();
    return has ? provider : "";
  }
};

class TapeBuilder {
 public:
  TapeBuilder() {
    run_.run.id.bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    run_.run.service = "refund-agent";
    run_.run.entry = "POST /refund";
    run_.run.input.bytes = R"({"order":"A-17"})";
    run_.run.started = {1'779'271'200'000'000'000, 1'000};
    schema::RunEnd end;
    end.run = run_.run.id;
    end.output.bytes = R"({"refund":120})";
    run_.end = end;
    run_.state = schema::EndState::kComplete;
  }

  schema::RecordedRun& run() { return run_; }

  // A call that ended before the next event began.
  schema::Event& Add(const CallSpec& spec) {
    schema::Event& event = Begin(spec);
    event.end_sequence = ++sequence_;
    return event;
  }

  // A call that is still under way; End it by its index in run().events.
  schema::Event& Begin(const CallSpec& spec) {
    schema::Event event;
    event.sequence = ++sequence_;
    event.run = run_.run.id;
    event.scope = spec.scope;
    event.boundary = spec.boundary;
    event.name = spec.name;
    event.provider = spec.Provider();
    event.endpoint = spec.endpoint;
    event.request.bytes = spec.request;
    schema::ExchangeItem head;
    head.kind = schema::ExchangeItemKind::kHead;
    head.status = 200;
    if (spec.boundary == schema::Boundary::kModel) event.exchange.push_back(head);
    for (const std::string& read : spec.reads) {
      schema::ExchangeItem bytes;
      bytes.size = read.size();
      event.exchange.push_back(bytes);
      event.response.bytes += read;
    }
    event.started.monotonic_ns = static_cast<int64_t>(sequence_) * 1'000;
    event.end_state = spec.end_state;
    event.end_detail = spec.end_detail;
    run_.events.push_back(std::move(event));
    return run_.events.back();
  }

  void End(size_t index) { run_.events[index].end_sequence = ++sequence_; }

  schema::Event& Read(schema::Boundary boundary, std::string name, uint64_t value,
                      std::string scope = "") {
    schema::Event event;
    event.sequence = ++sequence_;
    event.end_sequence = event.sequence;
    event.run = run_.run.id;
    event.scope = std::move(scope);
    event.boundary = boundary;
    event.name = std::move(name);
    event.value = value;
    event.end_state = schema::EndState::kComplete;
    run_.events.push_back(std::move(event));
    return run_.events.back();
  }

  schema::Event& Model(std::string request, std::string answer) {
    return Add({.request = std::move(request), .reads = {std::move(answer)}});
  }

  schema::Event& Tool(std::string name, std::string request, std::string answer) {
    return Add({.boundary = schema::Boundary::kTool,
                .name = std::move(name),
                .request = std::move(request),
                .reads = {std::move(answer)}});
  }

 private:
  schema::RecordedRun run_;
  uint64_t sequence_ = 0;
};

// What the SDK says for a program. `ask` carries a message to the session and back.
template <typename Ask>
class ProgramOf {
 public:
  explicit ProgramOf(Ask ask) : ask_(std::move(ask)) {}

  schema::Message Begin(const std::string& entry = "POST /refund",
                        const std::string& input = R"({"order":"A-17"})",
                        std::vector<schema::Component> components = {}) {
    schema::Message answer = ask_(schema::BeginRun{entry, input, std::move(components)});
    if (const auto* bound = std::get_if<schema::RunBound>(&answer)) token_ = bound->run_token;
    return answer;
  }

  // The answer, or "DIVERGED " and why.
  std::string Call(const CallSpec& spec) {
    const schema::Message answer = BeginCall(spec);
    if (const auto* diverged = std::get_if<schema::Diverged>(&answer)) {
      return "DIVERGED " + diverged->message;
    }
    const auto& on_tape = std::get<schema::OnTape>(answer);
    EndCall(on_tape, on_tape.end_state, on_tape.body.size());
    return on_tape.body;
  }

  std::string Model(const std::string& request) { return Call({.request = request}); }

  std::string Tool(const std::string& name, const std::string& request) {
    return Call({.boundary = schema::Boundary::kTool, .name = name, .request = request});
  }

  schema::Message BeginCall(const CallSpec& spec) {
    return ask_(schema::BeginCall{token_, spec.scope, spec.boundary, spec.name, spec.Provider(),
                                  spec.endpoint, spec.request});
  }

  void EndCall(const schema::OnTape& on_tape, schema::EndState state, uint64_t consumed) {
    ask_(schema::EndCall{token_, on_tape.call_token, state, consumed});
  }

  // The value, or what a diverged reading goes on with and true in `*diverged`.
  uint64_t Read(schema::Boundary boundary, const std::string& name, bool* diverged = nullptr,
                const std::string& scope = "") {
    const schema::Message answer = ask_(schema::ReadValue{token_, scope, boundary, name});
    if (diverged != nullptr) *diverged = std::holds_alternative<schema::Diverged>(answer);
    if (const auto* value = std::get_if<schema::Value>(&answer)) return value->value;
    return std::get<schema::Diverged>(answer).value;
  }

  // What the component was overridden with; nothing where it was not.
  std::optional<std::string> Content(const std::string& component) {
    const schema::Message answer = ask_(schema::UseComponent{token_, component});
    const auto& content = std::get<schema::ComponentContent>(answer);
    if (!content.overridden) return std::nullopt;
    return content.bytes;
  }

  void Finish(const std::string& output = R"({"refund":120})",
              schema::EndState state = schema::EndState::kComplete,
              const std::string& detail = "") {
    ask_(schema::FinishRun{token_, state, detail, output});
  }

 private:
  Ask ask_;
  uint64_t token_ = 0;
};

inline auto ProgramOn(ReplaySession* session) {
  return ProgramOf([session](const schema::Message& message) { return session->Answer(message); });
}

// The first divergence of a kind; null when there is none.
inline const Divergence* Find(const ReplayReport& report, DivergenceKind kind) {
  for (const Divergence& divergence : report.divergences) {
    if (divergence.kind == kind) return &divergence;
  }
  return nullptr;
}

inline std::string Kinds(const ReplayReport& report) {
  std::string kinds;
  for (const Divergence& divergence : report.divergences) {
    if (!kinds.empty()) kinds += ' ';
    kinds += ToString(divergence.kind);
  }
  return kinds;
}

inline bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline constexpr schema::Moment kReplayTime{1'788'000'000'000'000'000, 77};

}  // namespace reenact::replayer

#endif  // REENACT_TESTS_REPLAYER_TAPE_BUILDER_H_
