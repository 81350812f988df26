#include "tools/reenact/runs/margin_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {
namespace {

using schema::TokenAlternative;
using schema::TokenLogprob;

constexpr double kHeavyTail = 0.01;

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

bool IsKnown(const TokenAlternative& token) {
  return !token.censored && std::isfinite(token.logprob) &&
         token.logprob <= schema::kLargestLogprob;
}

// The mass that the list of a place leaves outside; nothing where there is no list.
std::optional<double> TailOf(const TokenLogprob& place) {
  if (place.top.empty()) return std::nullopt;
  double mass = 0;
  bool chosen_is_listed = false;
  for (const TokenAlternative& token : place.top) {
    if (IsKnown(token)) mass += std::exp(token.logprob);
    chosen_is_listed = chosen_is_listed ||
                       (token.token == place.chosen.token && token.bytes == place.chosen.bytes);
  }
  if (!chosen_is_listed && IsKnown(place.chosen)) mass += std::exp(place.chosen.logprob);
  return std::max(0.0, 1 - mass);
}

}  // namespace

std::optional<MarginSummary> SummariseMargins(const schema::LogprobSeries& series) {
  const auto unusable = [](const std::string& anomaly) {
    return anomaly.starts_with("misaligned");
  };
  if (std::any_of(series.anomalies.begin(), series.anomalies.end(), unusable)) return std::nullopt;
  MarginSummary summary;
  summary.tokens = static_cast<int64_t>(series.tokens.size());
  std::vector<bool> has_margin(series.tokens.size(), false);
  std::vector<double> margins;
  std::vector<int64_t> places;
  const double any = std::numeric_limits<double>::infinity();
  for (const schema::NearTie& tie : schema::FindNearTies(series, any, nullptr)) {
    has_margin[static_cast<size_t>(tie.token_index)] = true;
    margins.push_back(tie.margin_nats);
    places.push_back(tie.token_index);
  }
  bool any_known = false;
  for (size_t i = 0; i < series.tokens.size(); ++i) {
    const TokenLogprob& place = series.tokens[i];
    any_known = any_known || IsKnown(place.chosen);
    summary.censored += place.chosen.censored;
    summary.heavy_tails += TailOf(place).value_or(0) > kHeavyTail;
    if (has_margin[i] || !IsKnown(place.chosen)) continue;
    const analysis::Measure bound = analysis::LeastMargin(std::min(0.0, place.chosen.logprob));
    if (!bound.ok()) continue;
    ++summary.bounded;
    summary.least_bound = std::min(summary.least_bound.value_or(any), bound.value());
  }
  if (!any_known) return std::nullopt;
  summary.known = static_cast<int64_t>(margins.size());
  summary.risk = analysis::RiskOfSequence(margins, 0, schema::kNearTieNats);
  if (summary.risk.least_index >= 0) {
    summary.least_token = places[static_cast<size_t>(summary.risk.least_index)];
  }
  return summary;
}

std::string RenderMargins(const MarginSummary& summary) {
  std::string text =
      "margins of " + std::to_string(summary.known) + " of " + Counted(summary.tokens, "token");
  if (summary.risk.least.ok()) {
    text += ", the least " + Number(summary.risk.least.value()) + " nats at token " +
            std::to_string(summary.least_token);
  }
  if (summary.bounded > 0) {
    text += "; " + std::to_string(summary.bounded) + " more " +
            (summary.bounded == 1 ? "is" : "are") + " at least " + Number(*summary.least_bound);
  }
  const int64_t unknown = summary.tokens - summary.known - summary.bounded;
  if (unknown > 0) {
    text += "; " + std::to_string(unknown) + " not known";
    if (summary.censored > 0) {
      text += " (" + std::to_string(summary.censored) + " outside the top list)";
    }
  }
  if (summary.heavy_tails > 0) {
    text +=
        "; " + Counted(summary.heavy_tails, "list") + " of alternatives with more than 1 % missing";
  }
  return text;
}

void WriteMargins(const MarginSummary& summary, JsonWriter* json) {
  json->BeginObject();
  json->IntField("tokens", summary.tokens);
  json->IntField("known", summary.known);
  json->IntField("bounded", summary.bounded);
  json->OptionalRealField("least_bound", summary.least_bound);
  json->IntField("censored", summary.censored);
  json->IntField("heavy_tails", summary.heavy_tails);
  const auto measure = [json](std::string_view name, const analysis::Measure& value) {
    json->OptionalRealField(name, value.ok() ? std::optional<double>(value.value()) : std::nullopt);
  };
  measure("least", summary.risk.least);
  json->IntField("least_token", summary.least_token);
  measure("median", summary.risk.median);
  measure("share_below_a_tenth", summary.risk.share_below);
  json->EndObject();
}

}  // namespace reenact::tools
