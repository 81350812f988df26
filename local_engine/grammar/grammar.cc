#include "local_engine/grammar/grammar.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace reenact::local_engine {

Grammar::Element Grammar::Bytes(std::string_view bytes) {
  Element element;
  for (const char byte : bytes) element.bytes.set(static_cast<unsigned char>(byte));
  return element;
}

Grammar::Element Grammar::Range(unsigned char first, unsigned char last) {
  Element element;
  for (unsigned byte = first; byte <= last; ++byte) element.bytes.set(byte);
  return element;
}

Grammar::Sequence Grammar::Literal(std::string_view text) {
  Sequence sequence;
  for (const char byte : text) sequence.push_back(Bytes({&byte, 1}));
  return sequence;
}

Grammar::Sequence Grammar::Join(const std::vector<Sequence>& parts) {
  Sequence joined;
  for (const Sequence& part : parts) joined.insert(joined.end(), part.begin(), part.end());
  return joined;
}

Grammar::Element Grammar::AddRule(std::vector<Sequence> alternatives) {
  rules_.push_back(std::move(alternatives));
  return {.rule = static_cast<int32_t>(rules_.size()) - 1};
}

void Grammar::AddAlternative(const Element& rule, Sequence sequence) {
  rules_[static_cast<size_t>(rule.rule)].push_back(std::move(sequence));
}

Grammar::Element Grammar::Optional(Sequence sequence) {
  return AddRule({{}, std::move(sequence)});
}

Grammar::Element Grammar::Repeated(const Element& element) {
  const Element rule = AddRule({{}});
  AddAlternative(rule, {element, rule});
  return rule;
}

Grammar::Element Grammar::AtMost(const Element& element, int most) {
  Element rule = AddRule({{}});
  for (int i = 0; i < most; ++i) rule = Optional({element, rule});
  return rule;
}

}  // namespace reenact::local_engine
