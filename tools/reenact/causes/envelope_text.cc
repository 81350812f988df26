#include "tools/reenact/causes/envelope_text.h"

#include <algorithm>
#include <cstdio>

#include "local_engine/engine/stock_schedule.h"

namespace reenact::tools {
namespace {

using explain::Envelope;
using explain::ReachedAnswer;

constexpr size_t kShownText = 160;
constexpr size_t kShownSettings = 3;  // Of each answer; --json has all.

std::string Sentence(const EnvelopeReport& report) {
  const size_t count = report.envelope.answers.size();
  std::string text = "Load reaches " + Counted(static_cast<int64_t>(count), "answer") + " in " +
                     Counted(report.envelope.runs, "run");
  if (report.recorded)
    return text + (count > 1 ? ", the recorded one among them." : ", the recorded one.");
  if (report.n1_is_recorded) {
    return text + ", and not the recorded one, which is that of profile n1.";
  }
  if (report.schedule_reproduces) {
    return text + ", and the recorded schedule the recorded one.";
  }
  return text + "; the recorded one was not reached.";
}

std::string AnswerText(const EnvelopeReport& report, size_t index) {
  const ReachedAnswer& reached = report.envelope.answers[index];
  std::string text = "  answer " + std::to_string(index) + "    " +
                     Shortened(reached.answer.text, kShownText) + "\n";
  if (report.recorded == index) text += "              is the recorded one\n";
  if (report.n1 == index) text += "              is that of profile n1\n";
  if (reached.leaves_at) {
    text += "              leaves answer 0 at token " + std::to_string(*reached.leaves_at);
    if (reached.margin_nats) {
      char margin[32];
      std::snprintf(margin, sizeof margin, "%.3g", *reached.margin_nats);
      text += ", where its margin is " + std::string(margin) + " nats";
    }
    text += "\n";
  }
  text += "              reached by " + Counted(reached.runs, "run");
  const size_t count = reached.settings.size();
  for (size_t i = 0; i < std::min(count, kShownSettings); ++i) {
    text += (i == 0 ? ", throughout under " : "; ") + reached.settings[i];
  }
  if (count > kShownSettings) {
    text += "; and " + Counted(static_cast<int64_t>(count - kShownSettings), "setting") + " more";
  }
  return text + "\n";
}

}  // namespace

std::string RenderEnvelope(const EnvelopeReport& report, const Style& style) {
  const Envelope& envelope = report.envelope;
  const Ink ink = envelope.answers.size() > 1 ? Ink::kRed
                  : report.recorded           ? Ink::kGreen
                                              : Ink::kYellow;
  std::string text = style(ink, Sentence(report)) + "\n";
  text += "  run         " + report.run + " #" + std::to_string(report.event) + "\n";
  text += "  engine      " + report.fingerprint + "\n";
  char noise[96];
  std::snprintf(noise, sizeof noise, "%.3g nats at most, over %lld margins", envelope.noise_nats,
                static_cast<long long>(envelope.noise_samples));
  text += "  noise       " + std::string(noise) + "; " + Counted(envelope.near_ties, "near-tie") +
          " below it\n";
  if (report.draws) {
    text += "  branches    none: the answer is drawn, and its margins alone decide nothing\n";
  }
  if (envelope.known_runs > 0) {
    text += "  resumed     " + Counted(envelope.known_runs, "run") + " known already\n";
  }
  if (envelope.not_visited > 0) {
    text += "  not visited " + Counted(envelope.not_visited, "schedule") +
            ": --max-runs, and --resume to go on\n";
  }
  if (report.has_schedule) {
    text += std::string("  recorded    its own schedule ") +
            (report.schedule_reproduces ? "gives it exactly\n" : "does not give it\n");
  }
  for (size_t i = 0; i < envelope.answers.size(); ++i) text += AnswerText(report, i);
  if (!report.n1) {
    text += "  profile n1  " + Shortened(report.n1_text, kShownText) + "\n";
  }
  return text;
}

void WriteEnvelope(const EnvelopeReport& report, JsonWriter* json) {
  const Envelope& envelope = report.envelope;
  json->TextField("sentence", Sentence(report));
  json->TextField("run", report.run);
  json->IntField("event", static_cast<int64_t>(report.event));
  json->TextField("fingerprint", report.fingerprint);
  json->IntField("runs", envelope.runs);
  json->IntField("known_runs", envelope.known_runs);
  json->IntField("not_visited", envelope.not_visited);
  json->RealField("noise_nats", envelope.noise_nats);
  json->IntField("noise_samples", envelope.noise_samples);
  json->IntField("near_ties", envelope.near_ties);
  json->BoolField("draws", report.draws);
  json->BoolField("recorded_reached", report.recorded.has_value());
  json->BoolField("has_schedule", report.has_schedule);
  json->BoolField("schedule_reproduces", report.schedule_reproduces);
  json->TextField("n1_text", report.n1_text);
  json->BoolField("n1_is_recorded", report.n1_is_recorded);
  json->Key("answers");
  json->BeginArray();
  for (size_t i = 0; i < envelope.answers.size(); ++i) {
    const ReachedAnswer& reached = envelope.answers[i];
    json->BeginObject();
    json->TextField("text", reached.answer.text);
    json->IntField("tokens", static_cast<int64_t>(reached.answer.tokens.size()));
    json->BoolField("recorded", report.recorded == i);
    json->BoolField("n1", report.n1 == i);
    json->IntField("runs", reached.runs);
    json->TextsField("settings", reached.settings);
    json->OptionalIntField("leaves_at", reached.leaves_at);
    json->OptionalRealField("margin_nats", reached.margin_nats);
    json->TextField("schedule", local_engine::StockScheduleToJson(reached.schedule));
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace reenact::tools
