#include "tools/reenact/causes/free_run_text.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tools/reenact/causes/rerun_text.h"

namespace reenact::tools {
namespace {

using rerun::FreeOutcome;
using rerun::FreeReport;
using rerun::FreeRun;
using rerun::FreeStep;
using rerun::RerunVerdict;

constexpr size_t kFreeActionWidth = 90;

std::string FreeLine(std::string_view label, const std::string& value) {
  return "  " + PadRight(label, 14) + value + "\n";
}

std::string EventList(const std::vector<size_t>& events) {
  std::string text;
  for (const size_t event : events) text += (text.empty() ? "#" : ", #") + std::to_string(event);
  return text;
}

std::string OfRuns(int64_t count, const FreeReport& report) {
  return std::to_string(count) + " of " + Counted(static_cast<int64_t>(report.runs.size()), "run");
}

// The first step that did something else than the record; nothing: none did.
std::optional<size_t> FirstOtherStep(const FreeRun& run, const FreeReport& report) {
  const std::vector<std::string>& was = report.path.actions();
  for (size_t i = 0; i < run.steps.size(); ++i) {
    if (!run.steps[i].sample.answered()) return std::nullopt;
    if (i >= was.size() || run.steps[i].action != was[i]) return i;
  }
  return std::nullopt;
}

// "at step 2 (call #6)": steps count from 1; a request of the record's has its number.
std::string StepText(size_t step, const FreeRun& run) {
  const std::optional<size_t>& recorded = run.steps[step].recorded;
  return "at step " + std::to_string(step + 1) +
         (recorded ? " (call #" + std::to_string(*recorded) + ")" : "");
}

std::string Did(const std::string& action) {
  return "it " + (action.empty() ? "gives no whole answer" : Shortened(action, kFreeActionWidth));
}

std::string RecordDid(size_t step, const FreeReport& report) {
  const std::vector<std::string>& was = report.path.actions();
  if (step >= was.size()) return "the record had ended";
  return "the record " +
         (was[step].empty() ? "has no whole answer" : Shortened(was[step], kFreeActionWidth));
}

std::string OtherSentence(const FreeReport& report) {
  std::string text = "Left free, the model came to another outcome in " +
                     OfRuns(report.Count(FreeOutcome::kOther), report);
  const FreeRun& run = report.Telling();
  const std::optional<size_t> step = FirstOtherStep(run, report);
  if (!step) return text + ".";
  text += ": " + StepText(*step, run) + " " + Did(run.steps[*step].action) + " where " +
          RecordDid(*step, report);
  if (run.left_at == step && run.left.parting) text += "; " + PartingText(*run.left.parting);
  return text + ".";
}

// Runs that did the same and ended alike are told of once.
struct LikeRuns {
  const FreeRun* run = nullptr;
  int64_t count = 0;
};

bool AreAlike(const FreeRun& a, const FreeRun& b) {
  if (a.outcome != b.outcome || a.end != b.end || a.end_detail != b.end_detail ||
      a.left_at != b.left_at || a.steps.size() != b.steps.size()) {
    return false;
  }
  for (size_t i = 0; i < a.steps.size(); ++i) {
    if (a.steps[i].action != b.steps[i].action) return false;
  }
  return true;
}

std::vector<LikeRuns> Grouped(const FreeReport& report) {
  std::vector<LikeRuns> groups;
  for (const FreeRun& run : report.runs) {
    bool known = false;
    for (LikeRuns& group : groups) {
      if (known || !AreAlike(*group.run, run)) continue;
      ++group.count;
      known = true;
    }
    if (!known) groups.push_back({.run = &run, .count = 1});
  }
  return groups;
}

std::string OutcomeText(FreeOutcome outcome, const Style& style) {
  switch (outcome) {
    case FreeOutcome::kSame:
      return style(Ink::kGreen, "the recorded outcome");
    case FreeOutcome::kOther:
      return style(Ink::kRed, "another outcome");
    case FreeOutcome::kUndecided:
      break;
  }
  return style(Ink::kYellow, "no outcome");
}

std::string GroupText(const LikeRuns& group, const FreeReport& report, const Style& style) {
  const FreeRun& run = *group.run;
  std::string text =
      FreeLine(Counted(group.count, "run"),
               OutcomeText(run.outcome, style) + ", by " + Counted(run.answered(), "live answer") +
                   " and " + Counted(run.tools_from_tape(), "tool answer") + " from the tape");
  std::string end(ToString(run.end));
  if (!run.end_detail.empty()) end += ": " + Shortened(run.end_detail, kFreeActionWidth);
  text += FreeLine("", "ended " + end);
  if (run.left_at) {
    text += FreeLine("", "left the record " + StepText(*run.left_at, run) +
                             (run.left_by_action ? ", by what it did" : ", by words alone") +
                             (run.left.parting ? ": " + PartingText(*run.left.parting) : ""));
  }
  if (const std::optional<size_t> step = FirstOtherStep(run, report)) {
    text += FreeLine("", StepText(*step, run) + " " + Did(run.steps[*step].action));
    text += FreeLine("", "  where " + RecordDid(*step, report));
  }
  return text;
}

void WriteSteps(const FreeRun& run, JsonWriter* json) {
  json->Key("steps");
  json->BeginArray();
  for (const FreeStep& step : run.steps) {
    json->BeginObject();
    json->TextField("status", rerun::ToString(step.sample.status));
    json->GivenTextField("action", step.action);
    std::optional<int64_t> recorded;
    if (step.recorded) recorded = static_cast<int64_t>(*step.recorded);
    json->OptionalIntField("recorded_call", recorded);
    json->Key("tools_from");
    json->BeginArray();
    for (const size_t event : step.tools) json->Int(static_cast<int64_t>(event));
    json->EndArray();
    json->EndObject();
  }
  json->EndArray();
}

void WriteFreeRun(const FreeRun& run, JsonWriter* json) {
  json->BeginObject();
  json->TextField("outcome", rerun::ToString(run.outcome));
  json->TextField("ended", rerun::ToString(run.end));
  json->GivenTextField("ended_detail", run.end_detail);
  json->IntField("live_answers", run.answered());
  json->IntField("tools_from_tape", run.tools_from_tape());
  json->Key("left");
  if (run.left_at) {
    json->BeginObject();
    json->IntField("step", static_cast<int64_t>(*run.left_at));
    json->TextField("by", run.left_by_action ? "action" : "words");
    json->Key("comparison");
    WriteComparison(run.left, json);
    json->EndObject();
  } else {
    json->Null();
  }
  WriteSteps(run, json);
  json->EndObject();
}

void WriteEvents(std::string_view name, const std::vector<size_t>& events, JsonWriter* json) {
  json->Key(name);
  json->BeginArray();
  for (const size_t event : events) json->Int(static_cast<int64_t>(event));
  json->EndArray();
}

}  // namespace

std::string FreeSentence(const FreeReport& report) {
  if (report.verdict == RerunVerdict::kDiverged) return OtherSentence(report);
  if (report.verdict == RerunVerdict::kInconclusive) {
    return "No verdict: " + report.inconclusive_because + ".";
  }
  int64_t other_words = 0;
  for (const FreeRun& run : report.runs) other_words += run.left_at.has_value();
  return "Left free, the model came to the recorded outcome in " +
         OfRuns(report.Count(FreeOutcome::kSame), report) +
         (other_words > 0 ? ", in " + std::to_string(other_words) + " of them in other words"
                          : "") +
         ".";
}

std::string RenderFree(const std::string& run_id, const rerun::Target& target,
                       const FreeReport& report, const Style& style) {
  const std::string verdict(ToString(report.verdict));
  const Ink ink = report.verdict == RerunVerdict::kReproduced ? Ink::kGreen
                  : report.verdict == RerunVerdict::kDiverged ? Ink::kRed
                                                              : Ink::kYellow;
  std::string out = style(ink, Printable(FreeSentence(report))) + "\n\n";
  out += style(Ink::kBold, "Free rerun of " + run_id) + "  " + style(ink, verdict) + "\n";
  out += FreeLine("target", Printable(target.Name()));
  std::string conversation = "calls " + EventList(report.path.calls());
  if (!report.path.others().empty()) {
    conversation += "; not followed: " + EventList(report.path.others());
  }
  out += FreeLine("conversation", Shortened(conversation, 200));
  for (const LikeRuns& group : Grouped(report)) out += GroupText(group, report, style);
  for (const rerun::CallRerun& call : report.calls) out += RenderCall(call, style);
  return out;
}

void WriteFree(const FreeReport& report, JsonWriter* json) {
  json->TextField("verdict", ToString(report.verdict));
  json->TextField("sentence", FreeSentence(report));
  json->GivenTextField("inconclusive_because", report.inconclusive_because);
  WriteEvents("conversation", report.path.calls(), json);
  WriteEvents("not_followed", report.path.others(), json);
  json->TextsField("recorded_actions", report.path.actions());
  json->IntField("same", report.Count(FreeOutcome::kSame));
  json->IntField("other", report.Count(FreeOutcome::kOther));
  json->IntField("undecided", report.Count(FreeOutcome::kUndecided));
  json->Key("runs");
  json->BeginArray();
  for (const FreeRun& run : report.runs) WriteFreeRun(run, json);
  json->EndArray();
  WriteCalls(report.calls, json);
}

}  // namespace reenact::tools
