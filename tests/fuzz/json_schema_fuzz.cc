// A JSON Schema as a grammar: refused with words, or a language of JSON texts in which every
// beginning is followed by what the grammar says.

#include <nlohmann/json.hpp>

#include "local_engine/grammar/grammar_automaton.h"
#include "local_engine/grammar/json_grammar.h"
#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz::json_schema {

using namespace reenact::local_engine;

namespace {

constexpr int kMostBytes = 400;

// A text of the language, or a beginning of one: by turns the first and the last byte that may
// follow. False: a dead end.
bool Generate(GrammarAutomaton* automaton, std::string* text, GrammarAutomaton::State* state) {
  for (int i = 0; i < kMostBytes && automaton->GoesOn(*state); ++i) {
    GrammarAutomaton::State next = GrammarAutomaton::kNowhere;
    for (int step = 0; step < 256 && next == GrammarAutomaton::kNowhere; ++step) {
      const int byte = i % 3 == 0 ? step : 255 - step;
      next = automaton->Next(*state, static_cast<unsigned char>(byte));
      if (next != GrammarAutomaton::kNowhere) *text += static_cast<char>(byte);
    }
    if (next == GrammarAutomaton::kNowhere) return false;
    *state = next;
    if (automaton->IsComplete(*state) && i % 2 == 0) break;
  }
  return true;
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  const absl::StatusOr<Grammar> grammar = JsonOfSchema(bytes);
  if (!grammar.ok()) {
    if (grammar.status().message().empty()) Broken("an error without words");
    return;
  }
  GrammarAutomaton automaton(*grammar);
  GrammarAutomaton::State state = automaton.start();
  if (state == GrammarAutomaton::kNowhere) return;  // A schema without a text.
  std::string text;
  if (!Generate(&automaton, &text, &state)) return;  // Rules that lead to themselves alone.
  if (automaton.IsComplete(state) && !nlohmann::json::accept(text)) {
    Broken("a complete text that is not JSON: " + text);
  }
  Reached();
}

std::vector<std::string> Seeds() {
  const std::string object =
      R"({"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"enum": [1, "é", null]},
          "c": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 3}},
          "required": ["a", "c"], "additionalProperties": false})";
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += R"({"items": )";
  return {
      object, R"({"anyOf": [{"type": "integer"}, {"const": {"x": [true]}}, {"type": "object"}]})",
      // Cyclic: through itself with a way out, without one, and through two parts.
      R"({"type": "array", "items": {"$ref": "#"}})", R"({"$ref": "#"})",
      R"({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}})",
      // Truncated, and huge.
      object.substr(0, object.size() / 2),
      R"({"type": "array", "minItems": 1000, "maxItems": 1000})",
      R"({"type": "array", "minItems": 18446744073709551615})",
      deep + "{}" + std::string(200, '}')};
}

std::vector<std::string> Tokens() {
  return {"\"type\":",
          "\"object\"",
          "\"array\"",
          "\"string\"",
          "\"number\"",
          "\"integer\"",
          "\"null\"",
          "\"items\":",
          "\"enum\":",
          "\"const\":",
          "\"anyOf\":",
          "\"$ref\":",
          "\"#\"",
          "\"#/\"",
          "\"#/properties/a\"",
          "\"minItems\":",
          "\"maxItems\":",
          "\"required\":",
          "true",
          "false",
          "null",
          "{}",
          "[]",
          "{",
          "}",
          "[",
          "]",
          ",",
          ":",
          "-1",
          "1000",
          "1e400",
          "\"\\ud800\"",
          "\xff",
          "\"properties\":"};
}

const bool added = AddTarget({"json_schema", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::json_schema
