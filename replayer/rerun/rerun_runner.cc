#include "replayer/rerun/rerun_runner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "absl/status/status.h"

#include "schema/json_view.h"
#include "schema/sha256.h"

namespace reenact::rerun {
namespace {

using schema::Event;

bool IsAskable(const Event& event) {
  if (event.boundary != schema::Boundary::kModel) return false;
  switch (schema::DialectOf(event.provider, event.endpoint, event.request.bytes)) {
    case schema::ModelDialect::kOpenAiChat:
    case schema::ModelDialect::kOpenAiCompletions:
    case schema::ModelDialect::kOpenAiResponses:
    case schema::ModelDialect::kAnthropicMessages:
      return true;
    default:
      return false;
  }
}

// Why the recorded answer is nothing to compare with; empty: it is.
std::string WhyNotCompared(const Event& event, const schema::ModelView& view) {
  if (event.response.cut) return "the record holds only part of the answer";
  if (view.end_state != schema::EndState::kComplete) {
    return "the recorded answer is none: " + schema::DescribeEnd(view.end_state, view.end_detail);
  }
  if (view.choices.empty()) return "the recorded answer says nothing";
  return "";
}

// Servers that make up a seed tell it (our own does): with it the same draws are made again.
std::optional<uint64_t> SeedOfAnswer(const schema::ModelView& recorded, const Event& event) {
  for (const auto& [name, value] : recorded.facts) {
    if (name != "seed") continue;
    const auto document = schema::JsonDocument::Parse(event.request.bytes);
    if (document == nullptr || document->root()["seed"].is_number()) return std::nullopt;
    const auto number = schema::JsonDocument::Parse(value);
    if (number == nullptr) return std::nullopt;
    return number->root().AsUint64();
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<size_t>> CallsToAsk(const schema::RecordedRun& tape,
                                               const std::optional<size_t>& step) {
  if (step) {
    if (*step >= tape.events.size()) {
      return absl::InvalidArgumentError("there is no event #" + std::to_string(*step) +
                                        ": the run has " + std::to_string(tape.events.size()));
    }
    if (!IsAskable(tape.events[*step])) {
      return absl::InvalidArgumentError("event #" + std::to_string(*step) +
                                        " is no model call that can be asked again");
    }
    return std::vector<size_t>{*step};
  }
  std::vector<size_t> calls;
  for (size_t i = 0; i < tape.events.size(); ++i) {
    if (IsAskable(tape.events[i])) calls.push_back(i);
  }
  if (calls.empty())
    return absl::NotFoundError("the run has no model call that can be asked again");
  return calls;
}

// Where the recorded token was not among the alternatives that the new answer lists, a target that
// forces tokens says how likely it was there: after the tokens that both answers share.
void WeighRecordedToken(const Question& question, const schema::ModelView& now, Target* target,
                        TokenComparison* comparison) {
  if (!comparison->parting) return;
  Parting& parting = *comparison->parting;
  if (parting.new_margin || !parting.token_index || !parting.recorded.id) return;
  if (now.prompt_token_ids.empty() || now.choices.empty()) return;
  const auto shared = static_cast<size_t>(*parting.token_index);
  std::vector<int64_t> tokens = now.choices.front().token_ids;
  if (tokens.size() < shared) return;
  tokens.resize(shared);
  tokens.push_back(*parting.recorded.id);
  const ForcedScores scores = target->Force(question, now.prompt_token_ids, tokens);
  if (scores.status != SampleStatus::kAnswered || scores.tokens.size() != tokens.size()) return;
  if (scores.tokens.back().chosen.censored) return;
  parting.recorded.new_logprob = scores.tokens.back().chosen.logprob;
  if (!parting.now.new_logprob) return;
  parting.new_margin = *parting.now.new_logprob - *parting.recorded.new_logprob;
  parting.near_tie = parting.near_tie || std::abs(*parting.new_margin) < schema::kNearTieNats;
}

CallRerun RerunCall(const Event& event, size_t index, Target* target, const RerunOptions& options,
                    const std::function<void(int64_t)>& on_progress) {
  CallRerun call;
  call.event_index = index;
  call.recorded = schema::ViewModelCall(event);
  call.not_compared_because = WhyNotCompared(event, call.recorded);
  RequestEdits edits = options.edits;
  if (!edits.seed) edits.seed = SeedOfAnswer(call.recorded, event);
  call.question = QuestionOf(event, edits);
  call.samples = AskRepeatedly(
      target, call.question,
      {.count = options.count, .at_once = options.at_once, .on_progress = on_progress});
  std::set<std::string> texts;
  for (const Sample* sample : Answered(call.samples)) {
    const bool is_new = texts.insert(AnswerText(sample->view)).second;
    if (!call.not_compared_because.empty()) continue;
    TokenComparison comparison = CompareAnswers(call.recorded, sample->view);
    if (is_new) WeighRecordedToken(call.question, sample->view, target, &comparison);
    call.agreed += comparison.equal;
    call.comparisons.push_back(std::move(comparison));
  }
  call.unique = static_cast<int64_t>(texts.size());
  call.broken_promises = FindBrokenPromises(call.question, call.samples);
  return call;
}

std::string CallName(const CallRerun& call) {
  return "call #" + std::to_string(call.event_index);
}

void Judge(RerunReport* report) {
  bool any_compared = false;
  std::set<std::string> relaxed;
  report->level = RerunLevel::kR4;
  report->verdict = RerunVerdict::kReproduced;
  for (const CallRerun& call : report->calls) {
    for (const TokenComparison& comparison : call.comparisons) {
      any_compared = true;
      report->level = std::min(report->level, comparison.level());
      if (!comparison.relaxed_by.empty()) {
        relaxed.insert(CallName(call) + ": " + comparison.relaxed_by);
      }
      if (!comparison.equal) report->verdict = RerunVerdict::kDiverged;
    }
    if (!call.comparisons.empty() || !report->inconclusive_because.empty()) continue;
    report->inconclusive_because = CallName(call) + " has nothing to compare: ";
    if (!call.not_compared_because.empty()) {
      report->inconclusive_because += call.not_compared_because;
    } else if (call.samples.empty()) {
      report->inconclusive_because += "it was not asked";
    } else {
      const Sample& sample = call.samples.front();
      report->inconclusive_because += std::string(ToString(sample.status)) +
                                      (sample.detail.empty() ? "" : " (" + sample.detail + ")");
    }
  }
  report->relaxed_by.assign(relaxed.begin(), relaxed.end());
  if (!any_compared) report->level = RerunLevel::kR2;
  if (report->verdict == RerunVerdict::kDiverged) report->inconclusive_because.clear();
  if (!report->inconclusive_because.empty()) report->verdict = RerunVerdict::kInconclusive;
}

schema::Ulid DerivedId(const schema::Ulid& parent, schema::Moment now, size_t index) {
  schema::Sha256 hash;
  hash.Update(parent.AsBytes());
  hash.Update(std::to_string(now.wall_ns) + ":" + std::to_string(now.monotonic_ns) + ":" +
              std::to_string(index));
  const schema::Digest digest = hash.Finish();
  std::array<uint8_t, 10> entropy{};
  std::copy_n(digest.begin(), entropy.size(), entropy.begin());
  return schema::MakeUlid(now.wall_ns / 1'000'000, entropy);
}

// The tape with the answers of one repetition; nothing where none of its questions was answered.
std::optional<schema::RecordedRun> Derive(const schema::RecordedRun& tape,
                                          const RerunReport& report, const Target& target,
                                          schema::Moment now, size_t repetition) {
  schema::RecordedRun derived = tape;
  derived.run.id = DerivedId(tape.run.id, now, repetition);
  bool any = false;
  for (const CallRerun& call : report.calls) {
    if (repetition >= call.samples.size() || !call.samples[repetition].answered()) continue;
    any = true;
    Event& event = derived.events[call.event_index];
    const Event old = std::exchange(event, call.samples[repetition].event);
    event.sequence = old.sequence;
    event.end_sequence = old.end_sequence;
    event.scope = old.scope;
  }
  if (!any) return std::nullopt;
  derived.run.parent = tape.run.id;
  derived.run.origin = schema::RunOrigin::kReplay;
  derived.run.input.salt.reset();
  derived.run.started = now;
  std::erase_if(derived.run.tags,
                [](const auto& tag) { return tag.first.starts_with("reenact."); });
  derived.run.tags.emplace_back("reenact.rerun", target.Name());
  derived.run.tags.emplace_back("reenact.level", ToString(report.level));
  derived.run.tags.emplace_back("reenact.verdict", ToString(report.verdict));
  for (Event& event : derived.events) {
    event.run = derived.run.id;
    event.started = now;
    event.request.salt.reset();
    event.response.salt.reset();
  }
  for (schema::Component& component : derived.components) {
    component.at = now;
    component.content.salt.reset();
  }
  // What the run came to is the recorded program's doing; nobody ran it on these answers.
  derived.end = schema::RunEnd{.run = derived.run.id, .at = now};
  derived.state = schema::EndState::kComplete;
  derived.in_progress = false;
  derived.gaps.clear();
  derived.marks.clear();
  return derived;
}

}  // namespace

std::string_view ToString(RerunVerdict verdict) {
  switch (verdict) {
    case RerunVerdict::kReproduced:
      return "reproduced";
    case RerunVerdict::kDiverged:
      return "diverged";
    case RerunVerdict::kInconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

const TokenComparison* CallRerun::Telling() const {
  for (const TokenComparison& comparison : comparisons) {
    if (!comparison.equal) return &comparison;
  }
  return comparisons.empty() ? nullptr : &comparisons.front();
}

absl::StatusOr<RerunReport> Rerun(const schema::RecordedRun& tape, Target* target,
                                  const RerunOptions& options) {
  const absl::StatusOr<std::vector<size_t>> calls = CallsToAsk(tape, options.step);
  if (!calls.ok()) return calls.status();
  RerunReport report;
  const int64_t total = static_cast<int64_t>(calls->size()) * options.count;
  int64_t before = 0;
  for (const size_t index : *calls) {
    const auto on_progress = [&](int64_t done) {
      if (options.on_progress) options.on_progress(before + done, total);
    };
    report.calls.push_back(RerunCall(tape.events[index], index, target, options, on_progress));
    before += options.count;
  }
  report.abilities = target->abilities();
  Judge(&report);
  for (int64_t i = 0; i < options.count; ++i) {
    std::optional<schema::RecordedRun> derived =
        Derive(tape, report, *target, options.now, static_cast<size_t>(i));
    if (derived) report.derived.push_back(*std::move(derived));
  }
  return report;
}

}  // namespace reenact::rerun
