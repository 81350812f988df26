#include "tools/reenact/io/html_figures.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "replayer/rerun/compared_token.h"
#include "replayer/rerun/token_comparison.h"
#include "schema/logprob.h"
#include "tools/reenact/io/html_page.h"

namespace reenact::tools {
namespace {

using schema::TokenAlternative;
using schema::TokenLogprob;

// A margin of so many nats and more has no shade.
constexpr double kUnshadedNats = 2.0;

std::string NumberText(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

const schema::Choice* FirstChoice(const LabelledAnswer& answer) {
  return answer.view->choices.empty() ? nullptr : &answer.view->choices.front();
}

// The most likely token beside the chosen one.
const TokenAlternative* RunnerUp(const TokenLogprob& token) {
  const TokenAlternative* best = nullptr;
  for (const TokenAlternative& other : token.top) {
    if (rerun::SameToken(other, token.chosen) || other.censored) continue;
    if (best == nullptr || other.logprob > best->logprob) best = &other;
  }
  return best;
}

std::string TokenHtml(const TokenLogprob& token, size_t index, std::string_view style_class) {
  std::string title = "token " + std::to_string(index);
  double shade = 0;
  if (!token.chosen.censored) {
    title += ", logprob " + NumberText("%.4g", token.chosen.logprob);
    if (const TokenAlternative* other = RunnerUp(token)) {
      const double margin = token.chosen.logprob - other->logprob;
      title += "; \"" + other->token + "\" " + NumberText("%.4g", other->logprob) + ", margin " +
               NumberText("%.3g", margin) + " nats";
      shade = std::clamp(1 - margin / kUnshadedNats, 0.0, 1.0);
    }
  }
  std::string html = "<span title=\"" + EscapeHtml(title) + "\"";
  if (!style_class.empty()) html += " class=\"" + std::string(style_class) + "\"";
  if (shade > 0) html += " style=\"background:rgba(255,140,0," + NumberText("%.2f", shade) + ")\"";
  return html + ">" + EscapeHtml(token.chosen.bytes.value_or(token.chosen.token)) + "</span>";
}

std::string TokensHtml(const std::vector<TokenLogprob>& tokens, size_t parting) {
  std::string html;
  for (size_t i = 0; i < tokens.size(); ++i) {
    html += TokenHtml(tokens[i], i, i < parting ? "" : i == parting ? "parts" : "after");
  }
  return html;
}

std::string PlainHtml(const std::string& text, size_t parting) {
  // Not through the middle of a character.
  while (parting > 0 && parting < text.size() && (text[parting] & 0xC0) == 0x80) --parting;
  return EscapeHtml(text.substr(0, parting)) + "<span class=\"after\">" +
         EscapeHtml(text.substr(std::min(parting, text.size()))) + "</span>";
}

template <class Sequence, class Equal>
size_t CommonLength(const Sequence& a, const Sequence& b, Equal equal) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end(), equal).first -
                             a.begin());
}

std::string Row(std::string_view label, const std::string& html) {
  return "<div class=\"side\"><div class=\"note\">" + EscapeHtml(label) +
         "</div><div class=\"tokens\">" + html + "</div></div>\n";
}

// A circle, or a diamond for what stands out.
std::string MarkHtml(const ShownWindow& window, double x, double y, std::string_view colour) {
  const std::string title = "<title>" + EscapeHtml(window.title) + "</title>";
  const std::string at_x = NumberText("%.1f", x);
  const std::string at_y = NumberText("%.1f", y);
  if (window.stands_out) {
    return "<path class=\"out\" d=\"M" + at_x + " " + at_y +
           "m0 -6l6 6l-6 6l-6 -6z\" fill=\"#cf222e\">" + title + "</path>\n";
  }
  return "<circle cx=\"" + at_x + "\" cy=\"" + at_y + "\" r=\"3.5\" fill=\"" + std::string(colour) +
         "\">" + title + "</circle>\n";
}

std::string LevelHtml(double y, std::string_view stroke, const std::string& label) {
  const std::string at = NumberText("%.1f", y);
  return "<line x1=\"54\" x2=\"694\" y1=\"" + at + "\" y2=\"" + at +
         "\" stroke=" + std::string(stroke) + "/><text x=\"48\" y=\"" + NumberText("%.1f", y + 4) +
         "\" text-anchor=\"end\">" + label + "</text>\n";
}

bool HasTokens(const schema::Choice* choice) {
  return choice != nullptr && !choice->logprobs.tokens.empty() && rerun::LogprobsFit(*choice);
}

}  // namespace

std::string TokenDiffHtml(const LabelledAnswer& first, const LabelledAnswer& second) {
  const schema::Choice* a = FirstChoice(first);
  const schema::Choice* b = FirstChoice(second);
  if (HasTokens(a) && HasTokens(b)) {
    const auto& left = a->logprobs.tokens;
    const auto& right = b->logprobs.tokens;
    const size_t parting = CommonLength(left, right, [](const auto& x, const auto& y) {
      return x.chosen.token == y.chosen.token && x.chosen.bytes == y.chosen.bytes;
    });
    return Row(first.label, TokensHtml(left, parting)) +
           Row(second.label, TokensHtml(right, parting)) +
           "<p class=\"note\">The darker a token, the closer its runner-up was; framed: where they "
           "part.</p>\n";
  }
  const std::string left = rerun::AnswerText(*first.view);
  const std::string right = rerun::AnswerText(*second.view);
  const size_t parting = CommonLength(left, right, [](char x, char y) { return x == y; });
  return Row(first.label, PlainHtml(left, parting)) + Row(second.label, PlainHtml(right, parting)) +
         "<p class=\"note\">No logprobs of both are known: how close it was cannot be shown.</p>\n";
}

std::string SurvivalHtml(const analysis::DivergenceSurvival& survival) {
  if (survival.steps.empty()) {
    return "<p>No two answers parted, in " + std::to_string(survival.exposure_tokens) +
           " tokens.</p>\n";
  }
  constexpr double kLeft = 44;
  constexpr double kTop = 12;
  constexpr double kWidth = 640;
  constexpr double kHeight = 220;
  const auto last = static_cast<double>(survival.steps.back().token_index);
  const double end = std::max(1.0, last * 1.05 + 1);
  const auto x = [&](double token) { return kLeft + kWidth * token / end; };
  const auto y = [&](double share) { return kTop + kHeight * (1 - share); };
  std::string path = "M" + NumberText("%.1f", x(0)) + " " + NumberText("%.1f", y(1));
  for (const analysis::SurvivalStep& step : survival.steps) {
    path += "H" + NumberText("%.1f", x(static_cast<double>(step.token_index))) + "V" +
            NumberText("%.1f", y(step.survival));
  }
  path += "H" + NumberText("%.1f", x(end));
  std::string html =
      "<svg role=\"img\" aria-label=\"share of answers that agree, by token\" width=\"720\" "
      "height=\"270\">\n";
  for (const double share : {0.0, 0.5, 1.0}) {
    const std::string at = NumberText("%.1f", y(share));
    html += "<line x1=\"44\" x2=\"684\" y1=\"" + at + "\" y2=\"" + at +
            "\" stroke=\"#d8dee4\"/><text x=\"38\" y=\"" + NumberText("%.1f", y(share) + 4) +
            "\" text-anchor=\"end\">" + NumberText("%.0f %%", 100 * share) + "</text>\n";
  }
  html += "<path d=\"" + path + "\" fill=\"none\" stroke=\"#0969da\" stroke-width=\"2\"/>\n";
  html +=
      "<text x=\"44\" y=\"250\">token 0</text><text x=\"684\" y=\"250\" "
      "text-anchor=\"end\">token " +
      NumberText("%.0f", end) + "</text>\n</svg>\n";
  return html +
         "<p class=\"note\">The share of answers that still agree with the first one beyond a "
         "token (Kaplan and Meier).</p>\n";
}

std::string WindowsHtml(const std::vector<ShownWindow>& baseline,
                        const std::vector<ShownWindow>& checked, double gate) {
  double top = gate;
  for (const std::vector<ShownWindow>* side : {&baseline, &checked}) {
    for (const ShownWindow& window : *side) top = std::max(top, window.nats);
  }
  if (top == 0) return "<p>No window differs from the first one in a single bit.</p>\n";
  constexpr double kLeft = 54;
  constexpr double kTop = 16;
  constexpr double kWidth = 640;
  constexpr double kHeight = 220;
  // Half a step before the first mark, and behind the last one.
  const double step =
      kWidth / static_cast<double>(std::max<size_t>(1, baseline.size() + checked.size()));
  const auto x = [&](size_t index) { return kLeft + step * (static_cast<double>(index) + 0.5); };
  const auto y = [&](double nats) { return kTop + kHeight * (1 - nats / (1.05 * top)); };
  std::string html =
      "<svg role=\"img\" aria-label=\"distance from the first window of the baseline, in nats, by "
      "window\" width=\"760\" height=\"276\">\n";
  for (const double share : {0.0, 0.5, 1.0})
    html += LevelHtml(y(share * top), "\"#d8dee4\"", NumberText("%.3g", share * top));
  if (gate > 0) {
    html += LevelHtml(y(gate), "\"#9a6700\" stroke-dasharray=\"5 4\"", "") +
            "<text x=\"698\" y=\"" + NumberText("%.1f", y(gate) + 4) + "\">gate</text>\n";
  }
  const std::string border =
      NumberText("%.1f", kLeft + step * static_cast<double>(baseline.size()));
  html += "<line x1=\"" + border + "\" x2=\"" + border +
          "\" y1=\"8\" y2=\"244\" stroke=\"#59636e\"/>\n";
  for (size_t i = 0; i < baseline.size(); ++i)
    html += MarkHtml(baseline[i], x(i), y(baseline[i].nats), "#8c959f");
  for (size_t i = 0; i < checked.size(); ++i)
    html += MarkHtml(checked[i], x(baseline.size() + i), y(checked[i].nats), "#0969da");
  return html +
         "<text x=\"54\" y=\"258\">baseline</text><text x=\"694\" y=\"258\" "
         "text-anchor=\"end\">check</text>\n</svg>\n"
         "<p class=\"note\">Nats between each window's first-token logprobs and those of the "
         "baseline's first window. Grey: the baseline; blue: the check; a red diamond stands out "
         "of the "
         "baseline's own noise.</p>\n";
}

}  // namespace reenact::tools
