#include "tools/reenact/runs/run_text.h"

#include <algorithm>
#include <cstdio>

#include "tools/reenact/io/time_text.h"
#include "tools/reenact/runs/margin_text.h"

namespace reenact::tools {
namespace {

using schema::Boundary;
using schema::EndState;

constexpr size_t kValueWidth = 78;  // Of a value after its label in the header.
constexpr size_t kTimelineWidth = 112;
constexpr size_t kDetailIndent = 31;  // Where details of an event begin, below its line.
constexpr size_t kBodyWidth = 44;     // Of arguments and results within an event's line.

std::string RunLine(std::string_view label, const std::string& value) {
  return "  " + PadRight(label, 11) + value + "\n";
}

std::string Pairs(const schema::Tags& tags) {
  std::string out;
  for (const auto& [name, value] : tags) {
    if (!out.empty()) out += "  ";
    out += name + "=" + value;
  }
  return Shortened(out, kValueWidth * 2);
}

std::string StateText(const schema::RecordedRun& recorded, const Style& style) {
  if (recorded.in_progress) return style(Ink::kYellow, "in progress");
  const EndState state = recorded.end ? recorded.end->state : recorded.state;
  const std::string text =
      Printable(schema::DescribeEnd(state, recorded.end ? recorded.end->detail : ""));
  return style(state == EndState::kComplete ? Ink::kGreen : Ink::kRed, text);
}

// What a run is to its parent.
std::string Relation(const schema::Run& run) {
  if (run.origin != schema::RunOrigin::kReplay) return "";
  for (const auto& [name, value] : run.tags) {
    if (name == "reenact.fork_from") return " (this is a fork of it, from step " + value + ")";
    if (name == "reenact.rerun") return " (this is a rerun of it: " + Printable(value) + ")";
  }
  return " (this is a replay of it)";
}

std::string HeaderText(const RunView& view, const Style& style) {
  const schema::RecordedRun& recorded = *view.recorded;
  const schema::Run& run = recorded.run;
  std::string out = style(Ink::kBold, "Run " + schema::ToString(run.id)) + "\n";
  if (!run.service.empty()) out += RunLine("service", Shortened(run.service, kValueWidth));
  if (!run.entry.empty()) out += RunLine("entry", Shortened(run.entry, kValueWidth));
  std::string started = FormatMillis(run.started.wall_ns);
  if (recorded.end) {
    started += "   took " +
               FormatDuration(Elapsed(run.started.monotonic_ns, recorded.end->at.monotonic_ns));
  }
  out += RunLine("started", started);
  out += RunLine("state", StateText(recorded, style));
  if (!run.parent.IsZero()) {
    out += RunLine("parent", schema::ToString(run.parent) + Relation(run));
  }
  if (run.origin == schema::RunOrigin::kImported) out += RunLine("origin", "imported");
  if (!run.trace_id.empty()) out += RunLine("trace", Printable(run.trace_id));
  if (!run.tags.empty()) out += RunLine("tags", Pairs(run.tags));
  if (!run.process.empty()) out += RunLine("process", Pairs(run.process));
  for (const schema::Mark& mark : recorded.marks) {
    std::string text = schema::ToString(mark.id) + "  \"" + Shortened(mark.title, 46) + "\"";
    if (mark.severity != 0) text += "  severity " + std::to_string(mark.severity);
    out += RunLine("incident", style(Ink::kRed, text));
  }
  for (const schema::Component& component : recorded.components) {
    out += RunLine("component",
                   Shortened(component.kind + " " + component.name + " " +
                                 (component.version.empty() ? "(no version)" : component.version),
                             kValueWidth - 16) +
                       "  " + FormatSize(component.content.bytes.size()));
  }
  if (!run.input.bytes.empty())
    out += RunLine("input", ShortenedBody(run.input.bytes, kValueWidth));
  if (recorded.end && !recorded.end->output.bytes.empty()) {
    out += RunLine("output", ShortenedBody(recorded.end->output.bytes, kValueWidth));
  }
  return out;
}

std::string ConcernsText(const RunView& view, const Style& style) {
  const std::vector<Concern> concerns = FindConcerns(view);
  if (concerns.empty()) return "";
  std::string out = "\n" + style(Ink::kBold, "What stands out") + "\n";
  for (const Concern& concern : concerns) {
    std::string text = concern.wrong ? "  ! " : "  ~ ";
    if (concern.event) text += "#" + std::to_string(*concern.event) + " ";
    text += Shortened(concern.text, 400);
    out += style(concern.wrong ? Ink::kRed : Ink::kYellow, text) + "\n";
  }
  return out;
}

std::string TokenText(const schema::Usage& usage) {
  if (!usage.prompt_tokens && !usage.completion_tokens) return "";
  const auto number = [](const std::optional<int64_t>& count) {
    return count ? WithThousands(*count) : std::string("?");
  };
  return number(usage.prompt_tokens) + " in " + number(usage.completion_tokens) + " out";
}

// Facts side by side from `column` on; those that do not fit go on below, `indent` columns in.
std::string JoinFacts(const std::vector<std::string>& facts, size_t column, size_t indent) {
  std::string out;
  size_t used = column;
  for (const std::string& fact : facts) {
    if (fact.empty()) continue;
    const size_t width = VisibleWidth(fact);
    if (out.empty()) {
      used += width;
    } else if (used + 2 + width <= kTimelineWidth) {
      out += "  ";
      used += 2 + width;
    } else {
      out += "\n" + std::string(indent, ' ');
      used = indent + width;
    }
    out += fact;
  }
  return out;
}

std::string FinishText(const schema::ModelView& model) {
  std::string out;
  for (const schema::Choice& choice : model.choices) {
    if (choice.finish_reason.empty()) continue;
    out += (out.empty() ? "finish " : ",") + Shortened(choice.finish_reason, 24);
  }
  return out;
}

std::string EndText(const EventView& event, const Style& style) {
  if (event.end_state == EndState::kComplete) return "";
  if (event.running) return style(Ink::kYellow, "running");
  return style(Ink::kRed, Shortened(schema::DescribeEnd(event.end_state, event.end_detail), 60));
}

std::string TimeTaken(const EventView& event) {
  return event.running ? "" : FormatDuration(event.event->elapsed_ns);
}

std::vector<std::string> ModelFacts(const EventView& event, const Style& style) {
  const schema::ModelView& model = event.model;
  const int64_t attempts = schema::AttemptCount(event.event->exchange);
  std::vector<std::string> facts;
  facts.push_back(Shortened(AskedAndServed(model), 60));
  if (model.fingerprint_presence == schema::Presence::kValue) {
    facts.push_back(Shortened(model.system_fingerprint, 20));
  }
  facts.push_back(TokenText(model.usage));
  facts.push_back(FinishText(model));
  facts.push_back(EndText(event, style));
  if (model.http_status != 0 && model.http_status != 200) {
    facts.push_back("HTTP " + std::to_string(model.http_status));
  }
  facts.push_back(TimeTaken(event));
  if (model.first_byte_ns) facts.push_back("first byte " + FormatDuration(*model.first_byte_ns));
  if (attempts > 1) facts.push_back(std::to_string(attempts) + " attempts");
  if (event.event->attempt > 0) facts.push_back("retry " + std::to_string(event.event->attempt));
  if (event.event->in_flight > 0) {
    facts.push_back(Counted(event.event->in_flight, "other") + " in flight");
  }
  return facts;
}

std::vector<std::string> CallFacts(const EventView& event, const Style& style) {
  const schema::Event& call = *event.event;
  std::vector<std::string> facts;
  // Over plain HTTP the URL is most of the request.
  if (call.provider == schema::kPlainHttp) facts.push_back(Shortened(call.endpoint, kBodyWidth));
  facts.push_back(ShortenedBody(call.request.bytes, kBodyWidth));
  if (!event.running) facts.push_back("-> " + ShortenedBody(call.response.bytes, kBodyWidth));
  facts.push_back(EndText(event, style));
  facts.push_back(TimeTaken(event));
  if (call.attempt > 0) facts.push_back("retry " + std::to_string(call.attempt));
  return facts;
}

std::string NearTieText(const schema::NearTie& tie) {
  char margin[32];
  std::snprintf(margin, sizeof margin, "%.3g", tie.margin_nats);
  std::string out = "near-tie at token " + std::to_string(tie.token_index) + ": \"" +
                    Shortened(tie.chosen.token, 24) + "\" ";
  out += tie.chosen_is_best ? "over" : "taken below";
  return out + " \"" + Shortened(tie.runner_up.token, 24) + "\" by " + margin + " nats";
}

// What follows an event's line, more deeply indented.
std::vector<std::string> Details(const EventView& event, const Style& style) {
  static constexpr size_t kMaxNearTies = 5;
  std::vector<std::string> lines;
  if (!event.is_model()) return lines;
  for (const schema::Choice& choice : event.model.choices) {
    if (choice.content && !choice.content->empty()) {
      lines.push_back("\"" + ShortenedBody(*choice.content, 72) + "\"");
    }
    if (!choice.refusal.empty()) {
      lines.push_back(style(Ink::kYellow, "refused: \"" + Shortened(choice.refusal, 64) + "\""));
    }
    for (const schema::ToolCall& call : choice.tool_calls) {
      lines.push_back("asks for " + Shortened(call.name, 32) + " " +
                      ShortenedBody(call.arguments, kBodyWidth) + "  " + Shortened(call.id, 32));
    }
  }
  for (size_t i = 0; i < event.near_ties.size() && i < kMaxNearTies; ++i) {
    lines.push_back(style(Ink::kYellow, NearTieText(event.near_ties[i])));
  }
  if (event.near_ties.size() > kMaxNearTies) {
    lines.push_back(
        Counted(static_cast<int64_t>(event.near_ties.size() - kMaxNearTies), "further near-tie"));
  }
  for (const schema::Choice& choice : event.model.choices) {
    const auto margins = SummariseMargins(choice.logprobs);
    if (margins && margins->known > 0) {
      lines.push_back(style(Ink::kDim, RenderMargins(*margins)));
    }
  }
  return lines;
}

size_t DepthOf(const std::string& scope) {
  if (scope.empty()) return 0;
  return 1 + static_cast<size_t>(std::count(scope.begin(), scope.end(), '/'));
}

std::string EventLine(const EventView& event, int64_t offset_ns, size_t depth, const Style& style) {
  const schema::Event& call = *event.event;
  std::string line = PadLeft("#" + std::to_string(event.index), 5) + " " +
                     PadLeft(FormatOffset(offset_ns), 12) + "  ";
  line.append(2 * depth, ' ');
  line += PadRight(schema::ToString(call.boundary), 9) + " ";
  line += style(Ink::kBold, PadRight(Shortened(call.name, 24), 14)) + "  ";
  if (!event.is_call()) return line + ReadingText(call);
  const std::vector<std::string> facts =
      event.is_model() ? ModelFacts(event, style) : CallFacts(event, style);
  return line + JoinFacts(facts, VisibleWidth(line), kDetailIndent + 2 * depth);
}

std::string TimelineText(const RunView& view, const Style& style) {
  std::string out = "\n" + style(Ink::kBold, "Timeline") + "\n";
  if (view.events.empty()) return out + "  nothing was recorded in this run\n";
  std::string scope;
  for (const EventView& event : view.events) {
    const schema::Event& call = *event.event;
    const size_t depth = std::min<size_t>(DepthOf(call.scope), 8);
    if (call.scope != scope) {
      scope = call.scope;
      out += std::string(19 + 2 * depth, ' ') +
             style(Ink::kDim, scope.empty() ? "(run)" : Shortened(scope, 60) + "/") + "\n";
    }
    const int64_t offset = Elapsed(view.run().started.monotonic_ns, call.started.monotonic_ns);
    out += EventLine(event, offset, depth, style) + "\n";
    for (const std::string& detail : Details(event, style)) {
      out += std::string(kDetailIndent + 2 * depth, ' ') + detail + "\n";
    }
  }
  return out;
}

}  // namespace

std::string ReadingText(const schema::Event& event) {
  switch (event.boundary) {
    case Boundary::kClock:
      return FormatExact(static_cast<int64_t>(event.value));
    case Boundary::kRandom:
      return "seed " + std::to_string(event.value);
    default:
      return event.value != 0 ? "yes" : "no";
  }
}

std::string AskedAndServed(const schema::ModelView& model) {
  const std::string asked = model.asked_model.empty() ? "(no model named)" : model.asked_model;
  if (model.served_model.empty()) return asked + " -> unknown";
  return asked == model.served_model ? asked : asked + " -> " + model.served_model;
}

std::string RenderRun(const RunView& view, const Style& style) {
  std::string out = HeaderText(view, style) + ConcernsText(view, style) + TimelineText(view, style);
  return out;
}

}  // namespace reenact::tools
