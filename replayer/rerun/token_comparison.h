// Two answers to the same question, token by token: where they part, what stood there instead, and
// how close the decision was.

#ifndef REENACT_REPLAYER_RERUN_TOKEN_COMPARISON_H_
#define REENACT_REPLAYER_RERUN_TOKEN_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/model_view.h"

namespace reenact::rerun {

// What was compared: the best that both sides offer.
enum class TokenBasis : uint8_t {
  kTokenIds,    // Ids of the vocabulary.
  kTokenBytes,  // The bytes of each token, from logprobs.
  kText,        // No tokens are known: text, refusal and tool calls, byte by byte.
};
std::string_view ToString(TokenBasis basis);  // "token_ids"

// Of the architecture's levels, those that a rerun reaches. R3: the same tokens; R4: the same
// logprob bits.
enum class RerunLevel : uint8_t { kR2 = 2, kR3 = 3, kR4 = 4 };
std::string_view ToString(RerunLevel level);  // "R3"

// What one side has at the place where the answers part.
struct Alternative {
  bool ended = false;  // The answer was over there.
  std::string text;    // Display text of the token; without tokens, some text.
  std::optional<int64_t> id;
  std::optional<double> recorded_logprob;  // By the recorded answer; absent: not in its list.
  std::optional<double> new_logprob;       // By the new one.
};

struct Parting {
  // From 0; absent where only text was compared.
  std::optional<int64_t> token_index;
  int64_t byte_offset = 0;  // In the text of both.
  Alternative recorded;
  Alternative now;
  // What was chosen minus the other alternative, in nats; absent where a logprob is not known.
  // Negative: a less likely token was drawn.
  std::optional<double> recorded_margin;
  std::optional<double> new_margin;
  bool near_tie = false;  // A known margin of less than schema::kNearTieNats in size.
};

struct TokenComparison {
  TokenBasis basis = TokenBasis::kText;
  bool equal = false;
  int64_t common_tokens = 0;  // Before they part; 0 where only text was compared.
  std::optional<Parting> parting;
  // Of the tokens before the answers part.
  int64_t logprobs_compared = 0;
  int64_t logprobs_equal = 0;  // The same binary32.
  double max_logprob_delta = 0;
  std::optional<int64_t> first_unequal_logprob;  // Token index.
  std::string relaxed_by;                        // Why the level is not higher; empty at R4.

  RerunLevel level() const;
};

// Answers are compared choice by choice; the first one that differs is told of. Ids that a server
// makes up for tool calls do not count.
TokenComparison CompareAnswers(const schema::ModelView& recorded, const schema::ModelView& now);

// An answer as one string: what it said, refused and asked for, and how it ended. Equal strings are
// equal answers.
std::string AnswerText(const schema::ModelView& answer);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_TOKEN_COMPARISON_H_
