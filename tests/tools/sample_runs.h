// Runs made by hand, the same on every machine: what the renderers are tested with, and what the
// golden tests' stores hold.

#ifndef REENACT_TESTS_TOOLS_SAMPLE_RUNS_H_
#define REENACT_TESTS_TOOLS_SAMPLE_RUNS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/record.h"

namespace reenact::tests {

// 2026-03-01T02:10:00Z.
inline constexpr int64_t kSampleStartNs = int64_t{1772331000} * 1'000'000'000;

// Assembles a run whose events follow each other 10 ms apart unless told otherwise.
class RunBuilder {
 public:
  // `number` tells runs apart: it shifts the start by that many minutes and makes the id.
  explicit RunBuilder(int number);

  RunBuilder& Service(std::string service, std::string entry);
  RunBuilder& Component(std::string kind, std::string name, std::string version,
                        std::string content);
  RunBuilder& Clock(std::string name, int64_t wall_ns);
  RunBuilder& Seed(std::string name, uint64_t seed);
  RunBuilder& Tool(std::string name, std::string arguments, std::string result);
  RunBuilder& Retrieval(std::string name, std::string query, std::string documents);
  // A streamed call: one read for each of `frames`.
  RunBuilder& Model(std::string request, const std::vector<std::string>& frames);

  // The event added last, to be changed.
  schema::Event& last() { return run_.events.back(); }

  RunBuilder& Scope(std::string scope);  // Of the events from here on.
  RunBuilder& End(schema::EndState state, std::string output, std::string detail = "");

  schema::RecordedRun Build() { return run_; }

  schema::RecordedRun* run() { return &run_; }

 private:
  schema::Event& AddEvent(schema::Boundary boundary, std::string name);
  schema::RecordedRun run_;
  std::string scope_;
  int64_t at_ns_ = 0;
};

// A chat request of one system and one user message.
std::string ChatRequest(std::string_view model, std::string_view system, std::string_view user);

// Frames of a streamed answer: `tokens` are pairs of text and what came second, with its margin.
struct SampleToken {
  std::string text;
  double logprob = -0.01;
  std::string second;
  double second_logprob = -5;
};

std::vector<std::string> ChatFrames(std::string_view served, std::string_view fingerprint,
                                    const std::vector<SampleToken>& tokens);
std::vector<std::string> ToolCallFrames(std::string_view served, std::string_view fingerprint,
                                        std::string_view name, std::string_view arguments);

// The refund that goes wrong: an alias, a near-tie, a tool, a clock, a seed, a retrieval.
schema::RecordedRun WrongRefund();
// The same question a day earlier, answered rightly by another snapshot.
schema::RecordedRun RightRefund();
// A stream that breaks off, in a run whose process lost events.
schema::RecordedRun BrokenStream();
// Names, texts and bytes that try to take over a terminal.
schema::RecordedRun HostileRun();

}  // namespace reenact::tests

#endif  // REENACT_TESTS_TOOLS_SAMPLE_RUNS_H_
