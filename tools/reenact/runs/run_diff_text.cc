#include "tools/reenact/runs/run_diff_text.h"

#include <algorithm>
#include <cstdio>

#include "tools/reenact/io/time_text.h"
#include "tools/reenact/runs/run_text.h"

namespace reenact::tools {
namespace {

constexpr size_t kDifferenceWidth = 84;
constexpr size_t kMaxPaths = 20;  // Of one difference, in text; --json has all.

std::string SideText(std::string_view name, const RunView& view) {
  const schema::Run& run = view.run();
  return "  " + std::string(name) + "  " + schema::ToString(run.id) + "  " +
         FormatSeconds(run.started.wall_ns) + "  " + Shortened(run.service + " " + run.entry, 44) +
         "\n";
}

// The part of two texts around their first difference, so that it is seen however long they are.
void FocusOnDifference(std::string* a, std::string* b) {
  static constexpr size_t kContext = 30;
  const auto mismatch = std::mismatch(a->begin(), a->end(), b->begin(), b->end());
  auto at = static_cast<size_t>(mismatch.first - a->begin());
  if (at <= kContext) return;
  at -= kContext;
  while (at > 0 && (static_cast<uint8_t>((*a)[at]) & 0xC0) == 0x80) --at;
  *a = "…" + a->substr(at);
  *b = "…" + b->substr(std::min(at, b->size()));
}

std::string ValuesText(std::string a, std::string b, const Style& style) {
  FocusOnDifference(&a, &b);
  return style(Ink::kRed, "      A  " + Shortened(a, kDifferenceWidth)) + "\n" +
         style(Ink::kGreen, "      B  " + Shortened(b, kDifferenceWidth)) + "\n";
}

std::string MarginText(const std::optional<double>& margin) {
  if (!margin) return "margin unknown";
  char text[48];
  std::snprintf(text, sizeof text, "margin %.3g nats", *margin);
  return text;
}

std::string TokenText(const TokenDifference& token, const Style& style) {
  const auto side = [&](std::string_view name, const std::string& text,
                        const std::optional<double>& margin, Ink ink) {
    return style(ink, "      " + std::string(name) + "  \"" + Shortened(text, 40) + "\"  " +
                          MarginText(margin)) +
           "\n";
  };
  return "    the tokens part at token " + std::to_string(token.token_index) + "\n" +
         side("A", token.a, token.margin_a, Ink::kRed) +
         side("B", token.b, token.margin_b, Ink::kGreen);
}

std::string Where(const RunDifference& difference) {
  std::string out;
  if (difference.event_a) out += "  A #" + std::to_string(*difference.event_a);
  if (difference.event_b) out += "  B #" + std::to_string(*difference.event_b);
  return out;
}

std::string DifferenceText(const RunDifference& difference, const Style& style) {
  std::string out = "  " + PadRight(ToString(difference.kind), 13) +
                    style(Ink::kBold, Printable(difference.address)) + Where(difference);
  out.erase(out.find_last_not_of(' ') + 1);
  out += "\n";
  const bool component = difference.kind == DifferenceKind::kComponent;
  if (component || (difference.paths.empty() && !(difference.a.empty() && difference.b.empty()))) {
    if (difference.a.empty() && difference.kind == DifferenceKind::kLogprobs) {
      out += "      " + Printable(difference.b) + "\n";
    } else if (!component || difference.a != difference.b) {
      out += ValuesText(difference.a, difference.b, style);
    }
  }
  out += RenderPaths(difference.paths, {"A", "B"}, 4, style);
  if (difference.token) out += TokenText(*difference.token, style);
  return out;
}

std::string SummaryText(const RunDiff& diff) {
  int64_t only_a = 0;
  int64_t only_b = 0;
  for (const RunDifference& difference : diff.differences) {
    only_a += difference.kind == DifferenceKind::kOnlyInA ? 1 : 0;
    only_b += difference.kind == DifferenceKind::kOnlyInB ? 1 : 0;
  }
  std::string out =
      Counted(diff.pairs, "event") + " compared, " + std::to_string(diff.equal_pairs) + " equal";
  if (only_a > 0) out += "; " + std::to_string(only_a) + " only in A";
  if (only_b > 0) out += "; " + std::to_string(only_b) + " only in B";
  return out + "\n";
}

void WriteDifference(const RunDifference& difference, JsonWriter* json) {
  json->BeginObject();
  json->TextField("kind", ToString(difference.kind));
  json->TextField("address", difference.address);
  json->OptionalIntField("event_a", difference.event_a);
  json->OptionalIntField("event_b", difference.event_b);
  json->TextField("a", difference.a);
  json->TextField("b", difference.b);
  WritePaths(difference.paths, json);
  if (difference.token) {
    json->Key("token");
    json->BeginObject();
    json->IntField("token_index", difference.token->token_index);
    json->TextField("a", difference.token->a);
    json->TextField("b", difference.token->b);
    json->OptionalRealField("margin_a_nats", difference.token->margin_a);
    json->OptionalRealField("margin_b_nats", difference.token->margin_b);
    json->EndObject();
  }
  json->EndObject();
}

}  // namespace

std::string RenderPaths(const std::vector<schema::JsonDifference>& paths, const SideLabels& labels,
                        size_t indent, const Style& style) {
  const size_t label_width = std::max(labels.expected.size(), labels.actual.size());
  const std::string margin(indent + 2, ' ');
  const auto value = [&](std::string_view label, const std::string& text, bool present, Ink ink) {
    return style(ink, margin + PadRight(label, label_width) + "  " +
                          (present ? Shortened(text, kDifferenceWidth) : "(absent)")) +
           "\n";
  };
  std::string out;
  for (size_t i = 0; i < paths.size() && i < kMaxPaths; ++i) {
    const schema::JsonDifference& path = paths[i];
    out += std::string(indent, ' ') + Printable(path.path.empty() ? "(whole)" : path.path) + "\n";
    out += value(labels.expected, path.expected, path.expected_present, Ink::kRed);
    out += value(labels.actual, path.actual, path.actual_present, Ink::kGreen);
  }
  if (paths.size() > kMaxPaths) {
    out += std::string(indent, ' ') +
           Counted(static_cast<int64_t>(paths.size() - kMaxPaths), "further path") + "\n";
  }
  return out;
}

void WritePaths(const std::vector<schema::JsonDifference>& paths, JsonWriter* json) {
  json->Key("paths");
  json->BeginArray();
  for (const schema::JsonDifference& path : paths) {
    json->BeginObject();
    json->TextField("path", path.path);
    path.expected_present ? json->TextField("expected", path.expected)
                          : json->NullField("expected");
    path.actual_present ? json->TextField("actual", path.actual) : json->NullField("actual");
    json->EndObject();
  }
  json->EndArray();
}

std::string RenderDiff(const RunView& a, const RunView& b, const RunDiff& diff,
                       const Style& style) {
  std::string out = SideText("A", a) + SideText("B", b);
  if (diff.nothing_to_compare) return out + "Neither run has an event: nothing was compared\n";
  if (!diff.differences.empty()) {
    out += "\n" + style(Ink::kBold, "Differences, the first one first") + "\n";
    for (const RunDifference& difference : diff.differences)
      out += DifferenceText(difference, style);
  }
  if (!diff.readings.empty()) {
    out += "\n" + style(Ink::kBold, "Readings") + "\n";
    for (const RunDifference& reading : diff.readings) {
      out += "  " + Printable(reading.address) + "  A " + Printable(reading.a) + "  B " +
             Printable(reading.b) + "\n";
    }
  }
  out += "\n" + SummaryText(diff);
  return out;
}

void WriteDiff(const RunDiff& diff, JsonWriter* json) {
  json->IntField("events_compared", diff.pairs);
  json->IntField("events_equal", diff.equal_pairs);
  json->Key("differences");
  json->BeginArray();
  for (const RunDifference& difference : diff.differences) WriteDifference(difference, json);
  json->EndArray();
  json->Key("readings");
  json->BeginArray();
  for (const RunDifference& reading : diff.readings) WriteDifference(reading, json);
  json->EndArray();
}

}  // namespace reenact::tools
