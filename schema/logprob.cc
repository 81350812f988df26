// The margin of a token is that between the two best of the alternatives that are known: a small
// one means that rounding could have chosen otherwise. bf16 logits between 16 and 32 lie 0.125
// apart, so that exact ties are common; engines break them by the lowest token id.

#include "schema/logprob.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace reenact::schema {
namespace {

bool IsKnown(const TokenAlternative& token) {
  return !token.censored && token.logprob > kCensoredLogprob && token.logprob <= kLargestLogprob;
}

// The entry of `top` that is the chosen token, or top.size(). Texts are no identity: two entries
// may share one (""), and one character's parts may all read alike. The logprob then decides.
size_t FindChosen(const TokenLogprob& token) {
  const TokenAlternative& chosen = token.chosen;
  size_t same_text = token.top.size();
  int same_text_count = 0;
  for (size_t i = 0; i < token.top.size(); ++i) {
    const TokenAlternative& entry = token.top[i];
    if (chosen.id && entry.id) {
      if (*chosen.id == *entry.id) return i;
      continue;
    }
    if (entry.token != chosen.token || entry.bytes != chosen.bytes) continue;
    if (entry.logprob == chosen.logprob) return i;
    same_text = i;
    ++same_text_count;
  }
  return same_text_count == 1 ? same_text : token.top.size();
}

// Nothing when fewer than two alternatives are known.
std::optional<NearTie> MarginOf(const TokenLogprob& token) {
  const size_t chosen_index = FindChosen(token);
  std::vector<const TokenAlternative*> others;
  for (size_t i = 0; i < token.top.size(); ++i) {
    if (i != chosen_index && IsKnown(token.top[i])) others.push_back(&token.top[i]);
  }
  const auto better = [](const TokenAlternative* a, const TokenAlternative* b) {
    return a->logprob > b->logprob;
  };
  std::stable_sort(others.begin(), others.end(), better);

  NearTie tie;
  tie.chosen = token.chosen;
  if (IsKnown(token.chosen)) {
    if (others.empty()) return std::nullopt;
    tie.runner_up = *others[0];
    tie.chosen_is_best = token.chosen.logprob >= others[0]->logprob;
    // Where another one is best, the second may be the chosen one or yet another.
    double second = std::min(token.chosen.logprob, others[0]->logprob);
    if (!tie.chosen_is_best && others.size() > 1) second = std::max(second, others[1]->logprob);
    tie.margin_nats = std::max(token.chosen.logprob, others[0]->logprob) - second;
    return tie;
  }
  const bool impossible = token.chosen.logprob > kLargestLogprob;
  if (impossible || others.size() < 2) return std::nullopt;
  tie.runner_up = *others[0];
  tie.chosen_is_best = false;
  tie.margin_nats = others[0]->logprob - others[1]->logprob;
  return tie;
}

bool IsMisaligned(const LogprobSeries& series) {
  return std::any_of(series.anomalies.begin(), series.anomalies.end(),
                     [](const std::string& anomaly) { return anomaly.starts_with("misaligned"); });
}

}  // namespace

std::vector<NearTie> FindNearTies(const LogprobSeries& series, double threshold_nats,
                                  int64_t* unknown_count) {
  std::vector<NearTie> ties;
  int64_t unknown = 0;
  const bool misaligned = IsMisaligned(series);
  for (size_t i = 0; i < series.tokens.size(); ++i) {
    std::optional<NearTie> tie;
    if (!misaligned) tie = MarginOf(series.tokens[i]);
    if (!tie) {
      ++unknown;
    } else if (tie->margin_nats < threshold_nats) {
      tie->token_index = static_cast<int64_t>(i);
      ties.push_back(*std::move(tie));
    }
  }
  if (unknown_count != nullptr) *unknown_count = unknown;
  return ties;
}

double FlipProbability(double margin_nats, double margin_deviation) {
  if (margin_deviation > 0) return 0.5 * std::erfc(margin_nats / (margin_deviation * std::sqrt(2)));
  if (margin_nats == 0) return 0.5;
  return margin_nats > 0 ? 0 : 1;
}

}  // namespace reenact::schema
