// A language over bytes, given by rules: what the output of a model is held to.
//
//   Grammar grammar;
//   Element digit = Grammar::Bytes("0123456789");
//   Element digits = grammar.AddRule({{digit}});
//   grammar.AddAlternative(digits, {digit, digits});
//   grammar.set_root(digits);
//
// Only what it is; grammar_automaton.h reads bytes by it.

#ifndef REENACT_LOCAL_ENGINE_GRAMMAR_GRAMMAR_H_
#define REENACT_LOCAL_ENGINE_GRAMMAR_GRAMMAR_H_

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reenact::local_engine {

using ByteSet = std::bitset<256>;

class Grammar {
 public:
  // One byte out of a set, or whatever a rule stands for.
  struct Element {
    int32_t rule = -1;  // -1: a byte.
    ByteSet bytes;
  };

  using Sequence = std::vector<Element>;

  static Element Bytes(std::string_view bytes);
  static Element Range(unsigned char first, unsigned char last);  // Both included.
  static Sequence Literal(std::string_view text);
  static Sequence Join(const std::vector<Sequence>& parts);

  // A rule of these alternatives; more can be added, so that rules may name each other.
  Element AddRule(std::vector<Sequence> alternatives = {});
  void AddAlternative(const Element& rule, Sequence sequence);

  // `sequence`, or nothing.
  Element Optional(Sequence sequence);
  // `element` any number of times, or at most `most` times.
  Element Repeated(const Element& element);
  Element AtMost(const Element& element, int most);

  void set_root(const Element& rule) { root_ = rule.rule; }

  // Special tokens, by name, that may stand for their name in the text. All others are no text.
  void AddMarker(std::string name) { markers_.push_back(std::move(name)); }

  int32_t root() const { return root_; }

  const std::vector<std::vector<Sequence>>& rules() const { return rules_; }

  const std::vector<std::string>& markers() const { return markers_; }

 private:
  std::vector<std::vector<Sequence>> rules_;  // The alternatives of each.
  int32_t root_ = 0;
  std::vector<std::string> markers_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_GRAMMAR_GRAMMAR_H_
