#include "local_engine/grammar/grammar_automaton.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "local_engine/numerics/planted_support_fault.h"

namespace reenact::local_engine {
namespace {

constexpr int32_t kUnknown = -2;

}  // namespace

GrammarAutomaton::GrammarAutomaton(const Grammar& grammar) {
  for (const std::vector<Grammar::Sequence>& alternatives : grammar.rules()) {
    beginnings_.emplace_back();
    for (const Grammar::Sequence& sequence : alternatives) {
      beginnings_.back().push_back(static_cast<int32_t>(places_.size()));
      for (const Grammar::Element& element : sequence) {
        const bool is_rule = element.rule >= 0;
        places_.push_back({.kind = is_rule ? Place::Kind::kRule : Place::Kind::kByte,
                           .rule = element.rule,
                           .bytes = element.bytes});
      }
      places_.push_back({});
    }
  }
  std::vector<Stack> pending;
  for (const int32_t place : beginnings_[static_cast<size_t>(grammar.root())]) {
    pending.push_back({place});
  }
  std::set<Stack> stacks;
  Unroll(std::move(pending), &stacks);
  start_ = Intern(std::move(stacks));
}

// Until a byte lies on top of each stack, or nothing is left of it.
void GrammarAutomaton::Unroll(std::vector<Stack> pending, std::set<Stack>* stacks) const {
  std::set<Stack> seen;  // Rules that lead to themselves end here.
  while (!pending.empty()) {
    Stack stack = std::move(pending.back());
    pending.pop_back();
    const auto at_end = [this, &stack] {
      return places_[static_cast<size_t>(stack.back())].kind == Place::Kind::kEnd;
    };
    while (!stack.empty() && at_end()) stack.pop_back();
    if (stack.size() > kDeepestStack || !seen.insert(stack).second) continue;
    if (stack.empty()) {
      stacks->insert(std::move(stack));
      continue;
    }
    const Place& place = places_[static_cast<size_t>(stack.back())];
    if (place.kind == Place::Kind::kByte) {
      stacks->insert(std::move(stack));
      continue;
    }
    // What follows a rule at its end is what follows the one that named it: lists stay flat.
    ++stack.back();
    while (!stack.empty() && at_end()) stack.pop_back();
    for (const int32_t beginning : beginnings_[static_cast<size_t>(place.rule)]) {
      if (Planted(SupportFault::kGrammarTakesFirstChoice) && !stacks->empty()) break;
      pending.push_back(stack);
      pending.back().push_back(beginning);
    }
  }
}

GrammarAutomaton::State GrammarAutomaton::Intern(std::set<Stack> stacks) {
  if (stacks.empty()) return kNowhere;
  const auto found = numbers_.find(stacks);
  if (found != numbers_.end()) return found->second;
  if (states_.size() == kMostStates) return kNowhere;
  const auto number = static_cast<State>(states_.size());
  const bool complete = stacks.contains(Stack());
  const bool goes_on = stacks.size() > (complete ? 1u : 0u);
  numbers_.emplace(stacks, number);
  states_.push_back({.stacks = std::move(stacks), .complete = complete, .goes_on = goes_on});
  return number;
}

GrammarAutomaton::State GrammarAutomaton::Next(State state, unsigned char byte) {
  if (state == kNowhere) return kNowhere;
  std::unique_ptr<std::array<State, 256>>& table = states_[static_cast<size_t>(state)].next;
  if (table == nullptr) {
    table = std::make_unique<std::array<State, 256>>();
    table->fill(kUnknown);
  }
  if ((*table)[byte] != kUnknown) return (*table)[byte];
  std::vector<Stack> pending;
  for (const Stack& stack : states_[static_cast<size_t>(state)].stacks) {
    if (stack.empty() || !places_[static_cast<size_t>(stack.back())].bytes.test(byte)) continue;
    pending.push_back(stack);
    ++pending.back().back();
  }
  std::set<Stack> stacks;
  Unroll(std::move(pending), &stacks);
  const State next = Intern(std::move(stacks));
  (*states_[static_cast<size_t>(state)].next)[byte] = next;  // `table` may have moved.
  return next;
}

}  // namespace reenact::local_engine
