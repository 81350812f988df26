// Whole texts by a grammar.

#ifndef REENACT_TESTS_LOCAL_ENGINE_GRAMMAR_READ_TEXT_H_
#define REENACT_TESTS_LOCAL_ENGINE_GRAMMAR_READ_TEXT_H_

#include <random>
#include <string>
#include <string_view>

#include "local_engine/grammar/grammar_automaton.h"

namespace reenact::local_engine {

inline GrammarAutomaton::State ReadText(GrammarAutomaton* automaton, std::string_view text) {
  GrammarAutomaton::State state = automaton->start();
  for (const char byte : text) state = automaton->Next(state, static_cast<unsigned char>(byte));
  return state;
}

inline bool IsText(GrammarAutomaton* automaton, std::string_view text) {
  const GrammarAutomaton::State state = ReadText(automaton, text);
  return state != GrammarAutomaton::kNowhere && automaton->IsComplete(state);
}

// A text of the language, byte by byte any that may follow, of those that close something first
// after `longest` bytes; empty when it was not complete soon after.
inline std::string RandomText(GrammarAutomaton* automaton, size_t longest,
                              std::minstd_rand* random) {
  std::string text;
  GrammarAutomaton::State state = automaton->start();
  while (text.size() < longest + 2000) {
    if (automaton->IsComplete(state) && (!automaton->GoesOn(state) || text.size() > longest)) {
      return text;
    }
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) {
      if (automaton->Next(state, static_cast<unsigned char>(byte)) != GrammarAutomaton::kNowhere) {
        bytes += static_cast<char>(byte);
      }
    }
    char byte = bytes[(*random)() % bytes.size()];
    if (text.size() > longest || (*random)() % 8 == 0) {
      for (const char closing : {'}', ']', '"'}) {
        if (bytes.find(closing) != std::string::npos) byte = closing;
      }
    }
    text += byte;
    state = automaton->Next(state, static_cast<unsigned char>(byte));
  }
  return "";
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_GRAMMAR_READ_TEXT_H_
