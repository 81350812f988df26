// Tokens of answers that are compared: whether two are the same, in the best terms that both offer,
// and what is known of their logprobs.

#ifndef REENACT_REPLAYER_RERUN_COMPARED_TOKEN_H_
#define REENACT_REPLAYER_RERUN_COMPARED_TOKEN_H_

#include <optional>
#include <string>
#include <string_view>

#include "schema/logprob.h"
#include "schema/model_view.h"

namespace reenact::rerun {

// "logprobs_absent" begins "logprobs_absent:token=3".
bool HasAnomaly(const schema::LogprobSeries& series, std::string_view prefix);

// Whether a choice's logprobs belong to its tokens. Some servers, ours among them, give an id to
// the token that ends an answer, and no logprob: one id more than logprobs is no fault.
bool LogprobsFit(const schema::Choice& choice);

// Whether the logprobs of a choice tell which tokens were said.
bool NamesTokens(const schema::Choice& choice);

// Whether every token of it has bytes that can be trusted.
bool HasBytes(const schema::LogprobSeries& series);

// Its display text where the provider sent none.
const std::string& BytesOf(const schema::TokenAlternative& token);

// By ids where both have one, else by bytes, else by display text.
bool SameToken(const schema::TokenAlternative& a, const schema::TokenAlternative& b);

// Nothing for what is censored, or no logprob.
std::optional<double> LogprobOf(const schema::TokenAlternative& token);
// What `place` says of a token, as the chosen one or as an alternative.
std::optional<double> LogprobAt(const schema::TokenLogprob& place,
                                const schema::TokenAlternative& token);

std::optional<double> Margin(const std::optional<double>& chosen,
                             const std::optional<double>& other);

// The beginning of a text, whole characters of it.
std::string Excerpt(std::string_view text);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_COMPARED_TOKEN_H_
