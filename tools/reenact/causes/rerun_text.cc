#include "tools/reenact/causes/rerun_text.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

namespace reenact::tools {
namespace {

using rerun::Alternative;
using rerun::CallRerun;
using rerun::Parting;
using rerun::RerunReport;
using rerun::RerunVerdict;
using rerun::TokenBasis;
using rerun::TokenComparison;

constexpr size_t kTokenWidth = 32;

std::string RerunLine(std::string_view label, const std::string& value) {
  return "  " + PadRight(label, 12) + value + "\n";
}

std::string Quoted(const Alternative& alternative) {
  if (alternative.ended) return "the end";
  if (alternative.text.empty() && alternative.id) return "token " + std::to_string(*alternative.id);
  return "\"" + Shortened(alternative.text, kTokenWidth) + "\"";
}

std::string PlaceText(const Parting& parting) {
  return parting.token_index ? "token " + std::to_string(*parting.token_index)
                             : "byte " + std::to_string(parting.byte_offset);
}

// The margin to tell of: that of the new answer, which is the one that can be asked for again.
const std::optional<double>& MarginOf(const Parting& parting) {
  return parting.new_margin ? parting.new_margin : parting.recorded_margin;
}

std::string MarginText(const Parting& parting) {
  const std::optional<double>& margin = MarginOf(parting);
  if (!margin) return "how close the two were is not known";
  return NatsText(std::abs(*margin)) + " nats apart" + (parting.near_tie ? " (a near-tie)" : "");
}

// The first call that differs; null: none does.
const CallRerun* FirstDiverged(const RerunReport& report) {
  for (const CallRerun& call : report.calls) {
    if (call.agreed < call.answered()) return &call;
  }
  return nullptr;
}

int64_t CountAnswers(const RerunReport& report) {
  int64_t answers = 0;
  for (const CallRerun& call : report.calls) answers += call.answered();
  return answers;
}

std::string DivergedSentence(const CallRerun& call) {
  std::string text =
      "Asked again, call #" + std::to_string(call.event_index) + " was answered differently in " +
      std::to_string(call.answered() - call.agreed) + " of " + Counted(call.answered(), "answer");
  const TokenComparison* told = call.Telling();
  if (told == nullptr || !told->parting) return text + ".";
  return text + ": " + PartingText(*told->parting) + ".";
}

std::string LogprobText(const std::optional<double>& logprob) {
  return logprob ? NatsText(*logprob) : std::string("not known");
}

std::string AlternativeLine(std::string_view label, const Alternative& alternative) {
  return "             " + PadRight(label, 9) + PadRight(Quoted(alternative), 20) +
         "  logprob: recorded " + LogprobText(alternative.recorded_logprob) + ", now " +
         LogprobText(alternative.new_logprob) + "\n";
}

std::string BasisText(const TokenComparison& comparison) {
  std::string text = std::string(rerun::ToString(comparison.level()));
  switch (comparison.basis) {
    case TokenBasis::kTokenIds:
      text += ", by token ids";
      break;
    case TokenBasis::kTokenBytes:
      text += ", by the tokens' bytes";
      break;
    case TokenBasis::kText:
      text += ", by text alone";
      break;
  }
  if (comparison.basis != TokenBasis::kText) {
    text += "; " + Counted(comparison.common_tokens, "token") + " in common";
  }
  if (comparison.logprobs_compared > 0) {
    text += ", " + std::to_string(comparison.logprobs_equal) + " of " +
            Counted(comparison.logprobs_compared, "logprob") + " with the same bits";
    if (comparison.max_logprob_delta > 0) {
      text += " (at most " + NatsText(comparison.max_logprob_delta) + " apart)";
    }
  }
  return text;
}

void WriteAlternative(std::string_view name, const Alternative& alternative, JsonWriter* json) {
  json->Key(name);
  json->BeginObject();
  json->BoolField("ended", alternative.ended);
  json->TextField("text", alternative.text);
  json->OptionalIntField("id", alternative.id);
  json->OptionalRealField("recorded_logprob", alternative.recorded_logprob);
  json->OptionalRealField("new_logprob", alternative.new_logprob);
  json->EndObject();
}

void WriteCall(const CallRerun& call, JsonWriter* json) {
  json->BeginObject();
  json->IntField("event", static_cast<int64_t>(call.event_index));
  json->IntField("asked", static_cast<int64_t>(call.samples.size()));
  json->IntField("answered", call.answered());
  json->IntField("agreed", call.agreed);
  json->IntField("unique", call.unique);
  json->GivenTextField("not_compared_because", call.not_compared_because);
  json->TextsField("changes", call.question.changes);
  json->Key("failures");
  json->BeginObject();
  for (const auto& [status, count] : rerun::Failures(call.samples)) json->IntField(status, count);
  json->EndObject();
  json->Key("broken_promises");
  json->BeginArray();
  for (const rerun::BrokenPromise& broken : call.broken_promises) {
    json->BeginObject();
    json->TextField("name", broken.name);
    json->TextField("text", broken.text);
    json->EndObject();
  }
  json->EndArray();
  json->Key("answers");
  json->BeginArray();
  for (const TokenComparison& comparison : call.comparisons) WriteComparison(comparison, json);
  json->EndArray();
  json->EndObject();
}

}  // namespace

std::string NatsText(double nats) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", nats);
  return text;
}

void WriteComparison(const TokenComparison& comparison, JsonWriter* json) {
  json->BeginObject();
  json->BoolField("equal", comparison.equal);
  json->TextField("level", rerun::ToString(comparison.level()));
  json->TextField("basis", rerun::ToString(comparison.basis));
  json->IntField("common_tokens", comparison.common_tokens);
  json->IntField("logprobs_compared", comparison.logprobs_compared);
  json->IntField("logprobs_equal", comparison.logprobs_equal);
  json->RealField("max_logprob_delta", comparison.max_logprob_delta);
  json->GivenTextField("relaxed_by", comparison.relaxed_by);
  json->Key("parting");
  if (!comparison.parting) {
    json->Null();
  } else {
    const Parting& parting = *comparison.parting;
    json->BeginObject();
    json->OptionalIntField("token_index", parting.token_index);
    json->IntField("byte_offset", parting.byte_offset);
    WriteAlternative("recorded", parting.recorded, json);
    WriteAlternative("now", parting.now, json);
    json->OptionalRealField("recorded_margin", parting.recorded_margin);
    json->OptionalRealField("new_margin", parting.new_margin);
    json->BoolField("near_tie", parting.near_tie);
    json->EndObject();
  }
  json->EndObject();
}

std::string PartingText(const Parting& parting) {
  return PlaceText(parting) + " is " + Quoted(parting.now) + " where " + Quoted(parting.recorded) +
         " was recorded, " + MarginText(parting);
}

std::string RenderCall(const CallRerun& call, const Style& style) {
  const bool diverged = call.agreed < call.answered();
  const Ink ink = call.answered() == 0 ? Ink::kYellow : diverged ? Ink::kRed : Ink::kGreen;
  std::string line = "  call " + PadRight("#" + std::to_string(call.event_index), 5) + " ";
  if (call.answered() > 0) {
    line += style(ink, std::to_string(call.agreed) + " of " + Counted(call.answered(), "answer") +
                           (call.answered() == 1 && call.agreed == 1 ? " agrees" : " agree"));
    if (call.answered() > 1) line += ", " + std::to_string(call.unique) + " different";
  } else if (!call.not_compared_because.empty()) {
    line += style(ink, Shortened(call.not_compared_because, 100));
  } else {
    line += style(ink, "no answer");
  }
  if (const TokenComparison* told = call.Telling()) line += "  (" + BasisText(*told) + ")";
  line += "\n";
  if (const TokenComparison* told = call.Telling(); told != nullptr && told->parting) {
    const Parting& parting = *told->parting;
    line += "             they part at " + PlaceText(parting) + ": " + MarginText(parting) + "\n";
    line += AlternativeLine("recorded", parting.recorded) + AlternativeLine("now", parting.now);
  }
  for (const auto& [status, count] : rerun::Failures(call.samples)) {
    std::string detail;
    for (const rerun::Sample& sample : call.samples) {
      if (rerun::ToString(sample.status) == status && detail.empty()) detail = sample.detail;
    }
    line += "             " + style(Ink::kYellow, std::to_string(count) + " " + status) +
            (detail.empty() ? "" : ": " + Shortened(detail, 90)) + "\n";
  }
  if (!call.question.changes.empty()) {
    line += "             asked with";
    for (const std::string& change : call.question.changes) line += " " + Printable(change);
    line += " changed\n";
  }
  for (const rerun::BrokenPromise& broken : call.broken_promises) {
    line += "             " + style(Ink::kYellow, broken.name) + ": " +
            Shortened(broken.text, 200) + "\n";
  }
  return line;
}

std::string RerunSentence(const RerunReport& report) {
  switch (report.verdict) {
    case RerunVerdict::kDiverged:
      return DivergedSentence(*FirstDiverged(report));
    case RerunVerdict::kInconclusive:
      return "No verdict: " + report.inconclusive_because + ".";
    case RerunVerdict::kReproduced:
      break;
  }
  const std::string answers = Counted(CountAnswers(report), "answer") + " to " +
                              Counted(static_cast<int64_t>(report.calls.size()), "call");
  if (report.level == rerun::RerunLevel::kR4) {
    return "The model gave the recorded answers again, to the last bit of every logprob: " +
           answers + ".";
  }
  return "The model gave the recorded answers again: " + answers + ".";
}

std::string RenderRerun(const std::string& run_id, const rerun::Target& target,
                        const RerunReport& report, const Style& style) {
  const std::string verdict(rerun::ToString(report.verdict));
  const Ink ink = verdict == "reproduced" ? Ink::kGreen
                  : verdict == "diverged" ? Ink::kRed
                                          : Ink::kYellow;
  std::string out = style(ink, Printable(RerunSentence(report))) + "\n\n";
  out += style(Ink::kBold, "Rerun of " + run_id) + "  " + style(ink, verdict) + "  level " +
         std::string(rerun::ToString(report.level)) + "\n";
  out += RerunLine("target", Printable(target.Name()));
  for (const CallRerun& call : report.calls) out += RenderCall(call, style);
  for (const std::string& reason : report.relaxed_by) {
    out += RerunLine("not higher", Printable(reason));
  }
  return out;
}

void WriteRerun(const RerunReport& report, JsonWriter* json) {
  json->TextField("verdict", rerun::ToString(report.verdict));
  json->TextField("sentence", RerunSentence(report));
  json->GivenTextField("inconclusive_because", report.inconclusive_because);
  json->TextField("level", rerun::ToString(report.level));
  json->TextsField("relaxed_by", report.relaxed_by);
  WriteCalls(report.calls, json);
}

void WriteCalls(const std::vector<CallRerun>& calls, JsonWriter* json) {
  json->Key("calls");
  json->BeginArray();
  for (const CallRerun& call : calls) WriteCall(call, json);
  json->EndArray();
}

}  // namespace reenact::tools
