// Which tokens of a vocabulary may come next in a text that a grammar describes.

#ifndef REENACT_LOCAL_ENGINE_GRAMMAR_ALLOWED_TOKENS_H_
#define REENACT_LOCAL_ENGINE_GRAMMAR_ALLOWED_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "local_engine/grammar/grammar_automaton.h"

namespace reenact::local_engine {

// The tokens that are text, in the order of their bytes: tokens with a common beginning stand
// together, and what leads nowhere after it is passed over at once. Threads: const.
class TextTokens {
 public:
  struct Token {
    int32_t id = 0;
    std::string bytes;  // Not empty.
  };

  explicit TextTokens(std::vector<Token> tokens);

  // Sets (*allowed)[id] for those that may come after `state`.
  void Mark(GrammarAutomaton* automaton, GrammarAutomaton::State state,
            std::vector<bool>* allowed) const;

 private:
  std::vector<Token> tokens_;
  std::vector<size_t> shared_;  // Bytes in common with the token before.
  size_t longest_ = 0;
};

// The grammar of one request over the vocabulary of its model. Threads: one at a time.
class AllowedTokens {
 public:
  using State = GrammarAutomaton::State;

  // `text` outlives it. `markers`: the special tokens that may stand for their bytes. `ends`: those
  // that may follow a complete text.
  AllowedTokens(const Grammar& grammar, const TextTokens& text,
                std::vector<TextTokens::Token> markers, std::vector<int32_t> ends,
                int32_t vocabulary_size);

  State start() const { return automaton_.start(); }

  // By id.
  const std::vector<bool>& At(State state);

  // After a token with these bytes, which is none of the ends.
  State After(State state, const std::string& bytes);

  // Whether text can follow.
  bool GoesOn(State state) const { return automaton_.GoesOn(state); }

 private:
  const TextTokens& text_;
  std::vector<TextTokens::Token> markers_;
  std::vector<int32_t> ends_;
  int32_t vocabulary_size_;
  GrammarAutomaton automaton_;
  std::map<State, std::vector<bool>> known_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_GRAMMAR_ALLOWED_TOKENS_H_
