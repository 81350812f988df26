#include "local_engine/grammar/allowed_tokens.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "local_engine/numerics/planted_support_fault.h"

namespace reenact::local_engine {
namespace {

// Of sets of tokens that are kept: one for each place in the text that came up, of 16 kB and more.
constexpr size_t kMostKnown = 1024;

GrammarAutomaton::State Read(GrammarAutomaton* automaton, GrammarAutomaton::State state,
                             const std::string& bytes) {
  for (const char byte : bytes) state = automaton->Next(state, static_cast<unsigned char>(byte));
  return state;
}

}  // namespace

TextTokens::TextTokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const Token& a, const Token& b) { return a.bytes < b.bytes; });
  const std::string none;
  const std::string* before = &none;
  for (const Token& token : tokens_) {
    const auto [end, unused] =
        std::mismatch(before->begin(), before->end(), token.bytes.begin(), token.bytes.end());
    shared_.push_back(static_cast<size_t>(end - before->begin()));
    longest_ = std::max(longest_, token.bytes.size());
    before = &token.bytes;
  }
}

void TextTokens::Mark(GrammarAutomaton* automaton, GrammarAutomaton::State state,
                      std::vector<bool>* allowed) const {
  // after[i]: what the first i bytes of the token before led to, as far as they were read.
  std::vector<GrammarAutomaton::State> after(longest_ + 1, GrammarAutomaton::kNowhere);
  after[0] = state;
  size_t read = 0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& bytes = tokens_[i].bytes;
    const bool too_much = Planted(SupportFault::kGrammarSharesTooMuch);
    read = std::min(read, too_much ? bytes.size() : shared_[i]);
    while (read < bytes.size() && after[read] != GrammarAutomaton::kNowhere) {
      after[read + 1] = automaton->Next(after[read], static_cast<unsigned char>(bytes[read]));
      ++read;
    }
    if (read == bytes.size() && after[read] != GrammarAutomaton::kNowhere) {
      (*allowed)[static_cast<size_t>(tokens_[i].id)] = true;
    }
  }
}

AllowedTokens::AllowedTokens(const Grammar& grammar, const TextTokens& text,
                             std::vector<TextTokens::Token> markers, std::vector<int32_t> ends,
                             int32_t vocabulary_size)
    : text_(text),
      markers_(std::move(markers)),
      ends_(std::move(ends)),
      vocabulary_size_(vocabulary_size),
      automaton_(grammar) {}

const std::vector<bool>& AllowedTokens::At(State state) {
  const auto found = known_.find(state);
  if (found != known_.end()) return found->second;
  std::vector<bool> allowed(static_cast<size_t>(vocabulary_size_), false);
  text_.Mark(&automaton_, state, &allowed);
  for (const TextTokens::Token& marker : markers_) {
    if (After(state, marker.bytes) != GrammarAutomaton::kNowhere ||
        Planted(SupportFault::kGrammarMarksAnywhere)) {
      allowed[static_cast<size_t>(marker.id)] = true;
    }
  }
  if (automaton_.IsComplete(state) || Planted(SupportFault::kGrammarEndsAnywhere)) {
    for (const int32_t end : ends_) allowed[static_cast<size_t>(end)] = true;
  }
  if (known_.size() == kMostKnown) known_.clear();
  return known_.emplace(state, std::move(allowed)).first->second;
}

AllowedTokens::State AllowedTokens::After(State state, const std::string& bytes) {
  return Read(&automaton_, state, bytes);
}

}  // namespace reenact::local_engine
