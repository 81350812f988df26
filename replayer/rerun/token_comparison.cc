#include "replayer/rerun/token_comparison.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "replayer/analysis/first_divergence.h"
#include "replayer/rerun/compared_token.h"

namespace reenact::rerun {
namespace {

using schema::Choice;
using schema::LogprobSeries;
using schema::TokenAlternative;
using schema::TokenLogprob;

constexpr char kFieldMark = '\x1e';

std::string ChoiceText(const Choice& choice) {
  std::string text = choice.content.value_or("");
  text += kFieldMark + choice.reasoning + kFieldMark + choice.refusal;
  for (const schema::ToolCall& call : choice.tool_calls) {
    text += kFieldMark + call.name + kFieldMark + call.arguments;
  }
  return text + kFieldMark + choice.finish_reason;
}

// Two choices of the same index.
class ChoiceComparison {
 public:
  ChoiceComparison(const Choice& recorded, const Choice& now) : recorded_(recorded), now_(now) {}

  TokenComparison Compare() {
    const bool same_text = ChoiceText(recorded_) == ChoiceText(now_);
    const std::optional<int64_t> parting = FirstDifference(same_text);
    result_.equal = !parting && same_text;
    if (parting) {
      PartAtToken(*parting);
    } else if (!same_text) {
      PartInText();
    }
    CompareLogprobs();
    Explain();
    return std::move(result_);
  }

 private:
  // The token at which the sides part; sets the basis. Nothing: they do not, or only text is known.
  std::optional<int64_t> FirstDifference(bool same_text) {
    analysis::Tokens a = recorded_.token_ids;
    analysis::Tokens b = now_.token_ids;
    if (!a.empty() && !b.empty()) {
      result_.basis = TokenBasis::kTokenIds;
    } else if (NamesTokens(recorded_) && NamesTokens(now_)) {
      result_.basis = TokenBasis::kTokenBytes;
      std::tie(a, b) = Numbered();
    } else {
      return std::nullopt;
    }
    std::optional<int64_t> index = analysis::FirstDivergence(a, b);
    const size_t longer = std::max(a.size(), b.size());
    const size_t shorter = std::min(a.size(), b.size());
    // Some servers count the token that ends an answer, and others do not.
    if (index && same_text && longer == shorter + 1 && *index == static_cast<int64_t>(shorter)) {
      index.reset();
    }
    result_.common_tokens = index.value_or(static_cast<int64_t>(shorter));
    return index;
  }

  // The tokens of both sides as numbers, equal for equal bytes.
  std::pair<analysis::Tokens, analysis::Tokens> Numbered() const {
    const bool by_bytes = HasBytes(recorded_.logprobs) && HasBytes(now_.logprobs);
    std::map<std::string_view, int64_t> numbers;
    const auto number = [&](const LogprobSeries& series) {
      analysis::Tokens tokens;
      for (const TokenLogprob& token : series.tokens) {
        const std::string& key = by_bytes ? *token.chosen.bytes : token.chosen.token;
        const auto next = static_cast<int64_t>(numbers.size());
        tokens.push_back(numbers.emplace(key, next).first->second);
      }
      return tokens;
    };
    return {number(recorded_.logprobs), number(now_.logprobs)};
  }

  static const TokenLogprob* At(const Choice& choice, int64_t index) {
    if (!NamesTokens(choice) || index < 0) return nullptr;
    const auto at = static_cast<size_t>(index);
    return at < choice.logprobs.tokens.size() ? &choice.logprobs.tokens[at] : nullptr;
  }

  // The token of one side at `index`, from whatever names it.
  static Alternative Describe(const Choice& choice, int64_t index, TokenAlternative* token) {
    Alternative alternative;
    const auto at = static_cast<size_t>(index);
    if (const TokenLogprob* place = At(choice, index)) {
      *token = place->chosen;
    } else if (at >= choice.token_ids.size()) {
      alternative.ended = true;
      return alternative;
    }
    if (at < choice.token_ids.size()) token->id = choice.token_ids[at];
    alternative.text = token->token;
    alternative.id = token->id;
    return alternative;
  }

  void PartAtToken(int64_t index) {
    Parting parting;
    parting.token_index = index;
    TokenAlternative recorded;
    TokenAlternative now;
    parting.recorded = Describe(recorded_, index, &recorded);
    parting.now = Describe(now_, index, &now);
    const Choice& known = NamesTokens(now_) ? now_ : recorded_;
    for (int64_t i = 0; i < index; ++i) {
      const TokenLogprob* place = At(known, i);
      if (place != nullptr)
        parting.byte_offset += static_cast<int64_t>(BytesOf(place->chosen).size());
    }
    Weigh(At(recorded_, index), At(now_, index), recorded, now, &parting);
    result_.parting = std::move(parting);
  }

  static void Weigh(const TokenLogprob* recorded_place, const TokenLogprob* new_place,
                    const TokenAlternative& recorded, const TokenAlternative& now,
                    Parting* parting) {
    const auto weigh = [&](const TokenLogprob* place, bool ended, const TokenAlternative& token) {
      return place == nullptr || ended ? std::nullopt : LogprobAt(*place, token);
    };
    Alternative& old_side = parting->recorded;
    Alternative& new_side = parting->now;
    old_side.recorded_logprob = weigh(recorded_place, old_side.ended, recorded);
    old_side.new_logprob = weigh(new_place, old_side.ended, recorded);
    new_side.recorded_logprob = weigh(recorded_place, new_side.ended, now);
    new_side.new_logprob = weigh(new_place, new_side.ended, now);
    parting->recorded_margin = Margin(old_side.recorded_logprob, new_side.recorded_logprob);
    parting->new_margin = Margin(new_side.new_logprob, old_side.new_logprob);
    for (const auto& margin : {parting->recorded_margin, parting->new_margin}) {
      if (margin && std::abs(*margin) < schema::kNearTieNats) parting->near_tie = true;
    }
  }

  // Only text differs. Where the new answer names its tokens, the recorded text that follows may
  // begin with one of the alternatives there: then the margin is known all the same.
  void PartInText() {
    const std::string was = ChoiceText(recorded_);
    const std::string is = ChoiceText(now_);
    const auto differ = std::mismatch(was.begin(), was.end(), is.begin(), is.end());
    const auto offset = static_cast<size_t>(differ.first - was.begin());
    Parting parting;
    parting.byte_offset = static_cast<int64_t>(offset);
    parting.recorded.text = Excerpt(std::string_view(was).substr(offset));
    parting.now.text = Excerpt(std::string_view(is).substr(offset));
    result_.basis = TokenBasis::kText;
    if (NamesTokens(now_) && offset <= now_.content.value_or("").size()) {
      PlaceInTokens(was, offset, &parting);
    }
    result_.parting = std::move(parting);
  }

  void PlaceInTokens(std::string_view was, size_t offset, Parting* parting) {
    size_t begin = 0;
    const std::vector<TokenLogprob>& tokens = now_.logprobs.tokens;
    size_t index = 0;
    while (index < tokens.size() && begin + BytesOf(tokens[index].chosen).size() <= offset) {
      begin += BytesOf(tokens[index++].chosen).size();
    }
    if (index == tokens.size()) return;
    const std::string_view rest = was.substr(begin);
    const TokenLogprob& place = tokens[index];
    const TokenAlternative* match = nullptr;
    for (const TokenAlternative& other : place.top) {
      const std::string& bytes = BytesOf(other);
      if (bytes.empty() || !rest.starts_with(bytes) || SameToken(other, place.chosen)) continue;
      if (match == nullptr || bytes.size() > BytesOf(*match).size()) match = &other;
    }
    parting->token_index = static_cast<int64_t>(index);
    parting->now.text = place.chosen.token;
    parting->now.id = place.chosen.id;
    result_.common_tokens = static_cast<int64_t>(index);
    if (match == nullptr) return;
    parting->recorded.text = match->token;
    parting->recorded.id = match->id;
    Weigh(nullptr, &place, *match, place.chosen, parting);
  }

  void CompareLogprobs() {
    if (result_.basis == TokenBasis::kText) return;
    for (int64_t i = 0; i < result_.common_tokens; ++i) {
      const TokenLogprob* was = At(recorded_, i);
      const TokenLogprob* is = At(now_, i);
      if (was == nullptr || is == nullptr) continue;
      const std::optional<double> a = LogprobOf(was->chosen);
      const std::optional<double> b = LogprobOf(is->chosen);
      if (!a || !b) continue;
      ++result_.logprobs_compared;
      // Engines compute in binary32, whatever digits they print.
      if (std::bit_cast<uint32_t>(static_cast<float>(*a)) ==
          std::bit_cast<uint32_t>(static_cast<float>(*b))) {
        ++result_.logprobs_equal;
        continue;
      }
      result_.max_logprob_delta = std::max(result_.max_logprob_delta, std::abs(*a - *b));
      if (!result_.first_unequal_logprob) result_.first_unequal_logprob = i;
    }
  }

  void Explain() {
    const int64_t compared = result_.logprobs_compared;
    const auto named = static_cast<int64_t>(
        std::max(recorded_.logprobs.tokens.size(), now_.logprobs.tokens.size()));
    std::string* const why = &result_.relaxed_by;
    if (!result_.equal) {
      *why = "the answers differ";
    } else if (result_.basis == TokenBasis::kText) {
      *why = std::string("only text could be compared: the ") +
             (NamesTokens(recorded_) || !recorded_.token_ids.empty() ? "new" : "recorded") +
             " answer names no tokens";
    } else if (!NamesTokens(recorded_)) {
      *why = "the recorded answer has no logprobs";
    } else if (!NamesTokens(now_)) {
      *why = "the new answer has no logprobs";
    } else if (compared == 0 || compared < named) {
      *why = "logprobs are known of " + std::to_string(compared) + " of " + std::to_string(named) +
             " tokens on both sides";
    } else if (result_.logprobs_equal < compared) {
      *why = std::to_string(compared - result_.logprobs_equal) + " of " + std::to_string(compared) +
             " logprobs differ";
    }
  }

  const Choice& recorded_;
  const Choice& now_;
  TokenComparison result_;
};

}  // namespace

std::string_view ToString(TokenBasis basis) {
  switch (basis) {
    case TokenBasis::kTokenIds:
      return "token_ids";
    case TokenBasis::kTokenBytes:
      return "token_bytes";
    case TokenBasis::kText:
      return "text";
  }
  return "text";
}

std::string_view ToString(RerunLevel level) {
  switch (level) {
    case RerunLevel::kR2:
      return "R2";
    case RerunLevel::kR3:
      return "R3";
    case RerunLevel::kR4:
      return "R4";
  }
  return "R2";
}

RerunLevel TokenComparison::level() const {
  if (!equal) return RerunLevel::kR2;
  return relaxed_by.empty() ? RerunLevel::kR4 : RerunLevel::kR3;
}

TokenComparison CompareAnswers(const schema::ModelView& recorded, const schema::ModelView& now) {
  static const Choice kNone;
  TokenComparison lowest;
  const size_t count = std::max(recorded.choices.size(), now.choices.size());
  for (size_t i = 0; i < count; ++i) {
    const Choice& was = i < recorded.choices.size() ? recorded.choices[i] : kNone;
    const Choice& is = i < now.choices.size() ? now.choices[i] : kNone;
    TokenComparison comparison = ChoiceComparison(was, is).Compare();
    if (i == 0 || comparison.level() < lowest.level()) lowest = std::move(comparison);
    if (!lowest.equal) break;
  }
  return lowest;
}

std::string AnswerText(const schema::ModelView& answer) {
  std::string text;
  for (const Choice& choice : answer.choices) {
    if (!text.empty()) text += "\x1d";
    text += ChoiceText(choice);
  }
  return text;
}

}  // namespace reenact::rerun
