// Reads bytes by a grammar, one at a time, and knows after each what may follow.
//
// The idea: what is still to come of a text is a stack of places in rules, the innermost last. A
// grammar that leaves a choice open has several stacks; a set of them is a state. States are made
// when they are first reached and numbered, so that a byte that was read before in the same state
// costs a look into a table: within a text of JSON the states are few, whatever it says.

#ifndef REENACT_LOCAL_ENGINE_GRAMMAR_GRAMMAR_AUTOMATON_H_
#define REENACT_LOCAL_ENGINE_GRAMMAR_GRAMMAR_AUTOMATON_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "local_engine/grammar/grammar.h"

namespace reenact::local_engine {

// Threads: one at a time; Next remembers what it found.
class GrammarAutomaton {
 public:
  using State = int32_t;
  static constexpr State kNowhere = -1;

  // Deeper nesting than this is no part of any language here.
  static constexpr size_t kDeepestStack = 512;
  // A byte that would lead to one more state leads nowhere.
  static constexpr size_t kMostStates = size_t{1} << 16;

  explicit GrammarAutomaton(const Grammar& grammar);

  State start() const { return start_; }

  // kNowhere when no text of the language goes on with `byte` here.
  State Next(State state, unsigned char byte);

  // Whether the bytes up to here are a text of the language.
  bool IsComplete(State state) const {
    return state != kNowhere && states_[static_cast<size_t>(state)].complete;
  }

  // Whether a byte can follow.
  bool GoesOn(State state) const {
    return state != kNowhere && states_[static_cast<size_t>(state)].goes_on;
  }

 private:
  using Stack = std::vector<int32_t>;  // Of places; empty: the text is complete.

  // The alternatives of all rules one after the other, each with an end behind it.
  struct Place {
    enum class Kind { kByte, kRule, kEnd } kind = Kind::kEnd;
    int32_t rule = -1;
    ByteSet bytes;
  };

  struct StateInfo {
    std::set<Stack> stacks;  // Each with a byte on top.
    bool complete = false;
    bool goes_on = false;
    std::unique_ptr<std::array<State, 256>> next;  // kUnknown: not asked for yet.
  };

  void Unroll(std::vector<Stack> pending, std::set<Stack>* stacks) const;
  State Intern(std::set<Stack> stacks);

  std::vector<Place> places_;
  std::vector<std::vector<int32_t>> beginnings_;  // Of a rule's alternatives.
  std::vector<StateInfo> states_;
  std::map<std::set<Stack>, State> numbers_;
  State start_ = kNowhere;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_GRAMMAR_GRAMMAR_AUTOMATON_H_
