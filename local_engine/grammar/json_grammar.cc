#include "local_engine/grammar/json_grammar.h"

#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

#include "local_engine/numerics/planted_support_fault.h"

namespace reenact::local_engine {
namespace {

using Element = Grammar::Element;

constexpr int kMostIndentation = 20;
constexpr int kMostDigits = 15;  // Beyond the first, of each part of a number.

Element Either(const Element& a, const Element& b) {
  return {.bytes = a.bytes | b.bytes};
}

Element AddSpace(Grammar* grammar) {
  const Element indentation = grammar->AtMost(Grammar::Bytes(" \t"), kMostIndentation);
  return grammar->AddRule({{}, {Grammar::Bytes(" ")}, {Grammar::Bytes("\n"), indentation}});
}

// A character of a string: not a quote, a backslash or a control character, in valid UTF-8 (Unicode
// 15, table 3-7); or an escape, of which those of surrogates are left out.
Element AddCharacter(Grammar* grammar) {
  const Element next = Grammar::Range(0x80, 0xbf);
  const Element digit = Grammar::Range('0', '9');
  const Element hex = Either(digit, Either(Grammar::Range('a', 'f'), Grammar::Range('A', 'F')));
  const bool lone_surrogates = Planted(SupportFault::kJsonLoneSurrogates);
  const Element below_d = lone_surrogates ? hex : Either(digit, Grammar::Bytes("abcABCefEF"));
  const auto range = &Grammar::Range;
  const Element escape =
      grammar->AddRule({{Grammar::Bytes("\"\\/bfnrt")},
                        {Grammar::Bytes("u"), below_d, hex, hex, hex},
                        {Grammar::Bytes("u"), Grammar::Bytes("dD"), range('0', '7'), hex, hex}});
  const unsigned char first = Planted(SupportFault::kJsonControlCharacters) ? 0x01 : 0x20;
  const Element plain = Either(range(first, 0x21), Either(range(0x23, 0x5b), range(0x5d, 0x7e)));
  return grammar->AddRule({{plain},
                           {Grammar::Bytes("\\"), escape},
                           {range(0xc2, 0xdf), next},
                           {range(0xe0, 0xe0), range(0xa0, 0xbf), next},
                           {Either(range(0xe1, 0xec), range(0xee, 0xef)), next, next},
                           {range(0xed, 0xed), range(0x80, 0x9f), next},
                           {range(0xf0, 0xf0), range(0x90, 0xbf), next, next},
                           {range(0xf1, 0xf3), next, next, next},
                           {range(0xf4, 0xf4), range(0x80, 0x8f), next, next}});
}

Element AddInteger(Grammar* grammar) {
  const Element digit = Grammar::Range('0', '9');
  const Element more = grammar->AtMost(digit, kMostDigits);
  const unsigned char first = Planted(SupportFault::kJsonLeadingZeros) ? '0' : '1';
  const Element whole =
      grammar->AddRule({{Grammar::Bytes("0")}, {Grammar::Range(first, '9'), more}});
  return grammar->AddRule({{whole}, {Grammar::Bytes("-"), whole}});
}

// Two digits of exponent: more is no double, and no reader's.
Element AddNumber(Grammar* grammar, const Element& integer) {
  const Element digit = Grammar::Range('0', '9');
  const Element fraction =
      grammar->Optional({Grammar::Bytes("."), digit, grammar->AtMost(digit, kMostDigits)});
  const Element exponent =
      grammar->Optional({Grammar::Bytes("eE"), grammar->Optional({Grammar::Bytes("+-")}), digit,
                         grammar->AtMost(digit, 1)});
  return grammar->AddRule({{integer, fraction, exponent}});
}

}  // namespace

JsonGrammar::JsonGrammar(Grammar* grammar) : grammar_(grammar), space_(AddSpace(grammar)) {
  const Element quote = Grammar::Bytes("\"");
  string_ = grammar->AddRule({{quote, grammar->Repeated(AddCharacter(grammar)), quote}});
  integer_ = AddInteger(grammar);
  number_ = AddNumber(grammar, integer_);
  value_ = grammar->AddRule({{string_}, {number_}});
  for (const char* word : {"true", "false", "null"}) {
    grammar->AddAlternative(value_, Grammar::Literal(word));
  }
  array_ = Enclosed('[', value_, ']');
  const Element member = grammar->AddRule({{string_, space_, Grammar::Bytes(":"), space_, value_}});
  object_ = Enclosed('{', member, '}');
  grammar->AddAlternative(value_, {array_});
  grammar->AddAlternative(value_, {object_});
}

Element JsonGrammar::Enclosed(char open, const Element& item, char close) {
  const Element rest = grammar_->AddRule({{}});
  grammar_->AddAlternative(rest, {Grammar::Bytes(","), space_, item, space_, rest});
  const Element items = grammar_->Optional({item, space_, rest});
  return grammar_->AddRule(
      {{Grammar::Bytes({&open, 1}), space_, items, Grammar::Bytes({&close, 1})}});
}

Grammar AnyJsonObject() {
  Grammar grammar;
  const JsonGrammar json(&grammar);
  grammar.set_root(json.object());
  return grammar;
}

absl::StatusOr<Grammar> JsonOfSchema(std::string_view schema) {
  Grammar grammar;
  JsonGrammar json(&grammar);
  const absl::StatusOr<Element> root = AddJsonSchema(schema, &json);
  if (!root.ok()) return root.status();
  grammar.set_root(*root);
  return grammar;
}

}  // namespace reenact::local_engine
