#include "replayer/rerun/compared_token.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace reenact::rerun {

using schema::Choice;
using schema::LogprobSeries;
using schema::TokenAlternative;
using schema::TokenLogprob;

bool HasAnomaly(const LogprobSeries& series, std::string_view prefix) {
  return std::any_of(series.anomalies.begin(), series.anomalies.end(),
                     [&](const std::string& anomaly) { return anomaly.starts_with(prefix); });
}

bool LogprobsFit(const schema::Choice& choice) {
  return !HasAnomaly(choice.logprobs, "misaligned") ||
         choice.token_ids.size() == choice.logprobs.tokens.size() + 1;
}

bool NamesTokens(const Choice& choice) {
  return !choice.logprobs.tokens.empty() && LogprobsFit(choice) &&
         !HasAnomaly(choice.logprobs, "logprobs_absent");
}

const std::string& BytesOf(const TokenAlternative& token) {
  return token.bytes ? *token.bytes : token.token;
}

bool SameToken(const TokenAlternative& a, const TokenAlternative& b) {
  if (a.id && b.id) return *a.id == *b.id;
  if (a.bytes && b.bytes) return *a.bytes == *b.bytes;
  return a.token == b.token;
}

std::optional<double> LogprobOf(const TokenAlternative& token) {
  const bool known = !token.censored && std::isfinite(token.logprob) &&
                     token.logprob > schema::kCensoredLogprob &&
                     token.logprob <= schema::kLargestLogprob;
  return known ? std::optional<double>(token.logprob) : std::nullopt;
}

std::optional<double> LogprobAt(const TokenLogprob& place, const TokenAlternative& token) {
  if (SameToken(place.chosen, token)) return LogprobOf(place.chosen);
  for (const TokenAlternative& other : place.top) {
    if (SameToken(other, token)) return LogprobOf(other);
  }
  return std::nullopt;
}

std::optional<double> Margin(const std::optional<double>& chosen,
                             const std::optional<double>& other) {
  return chosen && other ? std::optional<double>(*chosen - *other) : std::nullopt;
}

bool HasBytes(const LogprobSeries& series) {
  return !HasAnomaly(series, "bytes_unreliable") &&
         std::all_of(series.tokens.begin(), series.tokens.end(),
                     [](const TokenLogprob& token) { return token.chosen.bytes.has_value(); });
}

std::string Excerpt(std::string_view text) {
  constexpr size_t kExcerptBytes = 24;
  size_t size = std::min(text.size(), kExcerptBytes);
  // Not within a character.
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80)
    --size;
  return std::string(text.substr(0, size));
}

}  // namespace reenact::rerun
