#include "tools/reenact/runs/run_diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "schema/request_key.h"
#include "tools/reenact/runs/event_alignment.h"
#include "tools/reenact/runs/run_text.h"

namespace reenact::tools {
namespace {

using schema::Boundary;

std::optional<double> MarginTo(const schema::TokenLogprob& token, const std::string& other) {
  for (const schema::TokenAlternative& alternative : token.top) {
    if (alternative.token != other) continue;
    if (alternative.censored || token.chosen.censored) return std::nullopt;
    return token.chosen.logprob - alternative.logprob;
  }
  return std::nullopt;
}

std::string ToolCallsText(const schema::Choice& choice) {
  std::string out;
  for (const schema::ToolCall& call : choice.tool_calls) {
    out += (out.empty() ? "" : ", ") + call.name + " " + call.arguments;
  }
  return out;
}

// Collects the differences of one pair.
class PairDiffer {
 public:
  PairDiffer(const EventPair& pair, std::vector<RunDifference>* out) : pair_(pair), out_(out) {}

  void Compare() {
    if (pair_.a->is_model()) {
      CompareRequests();
      CompareIdentity();
      CompareChoices();
    } else {
      CompareRequests();
      CompareBodies(pair_.a->event->response, pair_.b->event->response, DifferenceKind::kAnswer);
    }
    const std::string a = schema::DescribeEnd(pair_.a->end_state, pair_.a->end_detail);
    const std::string b = schema::DescribeEnd(pair_.b->end_state, pair_.b->end_detail);
    if (a != b) Add(DifferenceKind::kEndState, a, b);
  }

 private:
  RunDifference& Add(DifferenceKind kind, std::string a, std::string b) {
    RunDifference difference;
    difference.kind = kind;
    difference.address = AddressOf(*pair_.a->event);
    difference.event_a = pair_.a->index;
    difference.event_b = pair_.b->index;
    difference.a = std::move(a);
    difference.b = std::move(b);
    out_->push_back(std::move(difference));
    return out_->back();
  }

  void CompareRequests() {
    const schema::Event& a = *pair_.a->event;
    const schema::Event& b = *pair_.b->event;
    if (RequestKeyOf(*pair_.a) == RequestKeyOf(*pair_.b)) return;
    Add(DifferenceKind::kRequest, "", "").paths =
        schema::DiffRequests(CallRequestOf(a), CallRequestOf(b));
  }

  void CompareBodies(const schema::Body& a, const schema::Body& b, DifferenceKind kind) {
    if (a.bytes == b.bytes) return;
    std::vector<schema::JsonDifference> paths =
        schema::DiffRequests(Boundary::kTool, "", a.bytes, b.bytes);
    if (paths.empty()) return;  // Written differently, and of the same meaning.
    Add(kind, a.bytes, b.bytes).paths = std::move(paths);
  }

  void CompareIdentity() {
    const schema::ModelView& a = pair_.a->model;
    const schema::ModelView& b = pair_.b->model;
    if (a.served_model != b.served_model) {
      Add(DifferenceKind::kServedModel, a.served_model.empty() ? "unknown" : a.served_model,
          b.served_model.empty() ? "unknown" : b.served_model);
    }
    if (a.system_fingerprint != b.system_fingerprint) {
      Add(DifferenceKind::kFingerprint,
          a.system_fingerprint.empty() ? "not provided" : a.system_fingerprint,
          b.system_fingerprint.empty() ? "not provided" : b.system_fingerprint);
    }
  }

  void CompareChoices() {
    const std::vector<schema::Choice>& a = pair_.a->model.choices;
    const std::vector<schema::Choice>& b = pair_.b->model.choices;
    if (a.empty() && b.empty()) {
      CompareBodies(pair_.a->event->response, pair_.b->event->response, DifferenceKind::kAnswer);
      return;
    }
    if (a.size() != b.size()) {
      Add(DifferenceKind::kAnswer, std::to_string(a.size()) + " choices",
          std::to_string(b.size()) + " choices");
    }
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) CompareChoice(a[i], b[i]);
  }

  void CompareChoice(const schema::Choice& a, const schema::Choice& b) {
    const std::optional<TokenDifference> token = FirstTokenDifference(a.logprobs, b.logprobs);
    bool said = false;
    if (a.content != b.content) {
      Add(DifferenceKind::kAnswer, a.content.value_or("(none)"), b.content.value_or("(none)"))
          .token = token;
      said = true;
    }
    if (a.refusal != b.refusal) Add(DifferenceKind::kAnswer, a.refusal, b.refusal);
    if (ToolCallsText(a) != ToolCallsText(b)) {
      Add(DifferenceKind::kAnswer, "calls " + ToolCallsText(a), "calls " + ToolCallsText(b));
    }
    if (a.finish_reason != b.finish_reason) {
      Add(DifferenceKind::kAnswer, "finish " + a.finish_reason, "finish " + b.finish_reason);
    }
    if (!said && token) Add(DifferenceKind::kAnswer, "tokens", "tokens").token = token;
    if (!said && !token) CompareLogprobs(a.logprobs, b.logprobs);
  }

  void CompareLogprobs(const schema::LogprobSeries& a, const schema::LogprobSeries& b) {
    if (a.tokens.empty() || a.tokens.size() != b.tokens.size()) return;
    double largest = 0;
    std::optional<size_t> first;
    for (size_t i = 0; i < a.tokens.size(); ++i) {
      const schema::TokenAlternative& x = a.tokens[i].chosen;
      const schema::TokenAlternative& y = b.tokens[i].chosen;
      if (x.logprob == y.logprob || (x.censored && y.censored)) continue;
      if (!first) first = i;
      if (!x.censored && !y.censored) largest = std::max(largest, std::fabs(x.logprob - y.logprob));
    }
    if (!first) return;
    Add(DifferenceKind::kLogprobs, "",
        "first at token " + std::to_string(*first) + ", at most " + std::to_string(largest) +
            " nats apart");
  }

  EventPair pair_;
  std::vector<RunDifference>* out_;
};

void DiffComponents(const RunView& a, const RunView& b, std::vector<RunDifference>* out) {
  using Name = std::pair<std::string, std::string>;
  std::map<Name, std::pair<const schema::Component*, const schema::Component*>> pairs;
  for (const schema::Component& c : a.recorded->components) pairs[{c.kind, c.name}].first = &c;
  for (const schema::Component& c : b.recorded->components) pairs[{c.kind, c.name}].second = &c;
  for (const auto& [name, pair] : pairs) {
    const auto& [x, y] = pair;
    if (x != nullptr && y != nullptr && x->version == y->version &&
        x->content.bytes == y->content.bytes) {
      continue;
    }
    RunDifference difference;
    difference.kind = DifferenceKind::kComponent;
    difference.address = name.first + " " + name.second;
    difference.a = x == nullptr ? "(not there)" : "version " + x->version;
    difference.b = y == nullptr ? "(not there)" : "version " + y->version;
    if (x != nullptr && y != nullptr && x->content.bytes != y->content.bytes) {
      difference.paths =
          schema::DiffRequests(Boundary::kTool, "", x->content.bytes, y->content.bytes);
    }
    out->push_back(std::move(difference));
  }
}

void DiffEdge(DifferenceKind kind, const std::string& a, const std::string& b,
              std::vector<RunDifference>* out) {
  if (a == b) return;
  RunDifference difference;
  difference.kind = kind;
  difference.a = a;
  difference.b = b;
  difference.paths = schema::DiffRequests(Boundary::kTool, "", a, b);
  if (!difference.paths.empty()) out->push_back(std::move(difference));
}

std::string OutputOf(const RunView& view) {
  return view.recorded->end ? view.recorded->end->output.bytes : "";
}

void DiffReading(const EventPair& pair, RunDiff* diff) {
  RunDifference difference;
  difference.kind = DifferenceKind::kReading;
  difference.address = AddressOf(*pair.a->event);
  difference.event_a = pair.a->index;
  difference.event_b = pair.b->index;
  difference.a = ReadingText(*pair.a->event);
  difference.b = ReadingText(*pair.b->event);
  diff->readings.push_back(std::move(difference));
}

void DiffPair(const EventPair& pair, RunDiff* diff) {
  if (pair.a == nullptr || pair.b == nullptr) {
    const EventView& only = pair.a != nullptr ? *pair.a : *pair.b;
    RunDifference difference;
    difference.kind = pair.a != nullptr ? DifferenceKind::kOnlyInA : DifferenceKind::kOnlyInB;
    difference.address = AddressOf(*only.event);
    (pair.a != nullptr ? difference.event_a : difference.event_b) = only.index;
    diff->differences.push_back(std::move(difference));
    return;
  }
  ++diff->pairs;
  const size_t before = diff->differences.size() + diff->readings.size();
  if (pair.a->is_call()) {
    PairDiffer(pair, &diff->differences).Compare();
  } else if (pair.a->event->value != pair.b->event->value) {
    DiffReading(pair, diff);
  }
  if (diff->differences.size() + diff->readings.size() == before) ++diff->equal_pairs;
}

}  // namespace

std::string_view ToString(DifferenceKind kind) {
  static constexpr std::string_view kNames[] = {
      "component",   "input",  "only_in_a", "only_in_b", "request", "served_model",
      "fingerprint", "answer", "logprobs",  "end_state", "reading", "output"};
  return kNames[static_cast<size_t>(kind)];
}

std::optional<TokenDifference> FirstTokenDifference(const schema::LogprobSeries& a,
                                                    const schema::LogprobSeries& b) {
  if (a.tokens.empty() || b.tokens.empty()) return std::nullopt;
  const size_t common = std::min(a.tokens.size(), b.tokens.size());
  for (size_t i = 0; i < common; ++i) {
    const schema::TokenAlternative& x = a.tokens[i].chosen;
    const schema::TokenAlternative& y = b.tokens[i].chosen;
    if (x.token == y.token && x.bytes == y.bytes) continue;
    return TokenDifference{.token_index = static_cast<int64_t>(i),
                           .a = x.token,
                           .b = y.token,
                           .margin_a = MarginTo(a.tokens[i], y.token),
                           .margin_b = MarginTo(b.tokens[i], x.token)};
  }
  if (a.tokens.size() == b.tokens.size()) return std::nullopt;
  TokenDifference end;
  end.token_index = static_cast<int64_t>(common);
  end.a = common < a.tokens.size() ? a.tokens[common].chosen.token : "(end)";
  end.b = common < b.tokens.size() ? b.tokens[common].chosen.token : "(end)";
  return end;
}

RunDiff DiffRuns(const RunView& a, const RunView& b) {
  RunDiff diff;
  diff.nothing_to_compare = a.events.empty() && b.events.empty();
  DiffComponents(a, b, &diff.differences);
  DiffEdge(DifferenceKind::kInput, a.run().input.bytes, b.run().input.bytes, &diff.differences);
  for (const EventPair& pair : AlignEvents(a, b)) DiffPair(pair, &diff);
  DiffEdge(DifferenceKind::kOutput, OutputOf(a), OutputOf(b), &diff.differences);
  return diff;
}

}  // namespace reenact::tools
