// JSON Schemas as grammars: what they let through, what they refuse by name.

#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "local_engine/grammar/grammar_automaton.h"
#include "local_engine/grammar/json_grammar.h"
#include "tests/local_engine/grammar/read_text.h"

namespace reenact::local_engine {
namespace {

struct SchemaCase {
  const char* schema;
  std::vector<const char*> texts;
  std::vector<const char*> others;
};

TEST(JsonSchema, LetsThroughWhatItDescribes) {
  const SchemaCase cases[] = {
      {R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
           "required": ["a", "b"], "additionalProperties": false})",
       {R"({"a":"x","b":1})", "{ \"a\": \"x\",\n  \"b\": -12\n}"},
       {"{}", R"({"a":"x"})", R"({"b":1,"a":"x"})", R"({"a":"x","b":1.5})",
        R"({"a":"x","b":1,"c":2})"}},
      {R"({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "boolean"}, "c": {}},
           "required": ["b"]})",
       {R"({"b":true})", R"({"a":null,"b":false})", R"({"b":true,"c":[{}]})",
        R"({"a":null,"b":true,"c":1})"},
       {"{}", R"({"a":null})", R"({"a":null,"c":1})", R"({,"b":true})", R"({"c":1,"b":true})"}},
      {R"({"type": "object", "properties": {}, "additionalProperties": false})",
       {"{}"},
       {R"({"a":1})"}},
      {R"({"type": "object"})", {"{}", R"({"a":1})"}, {"[]"}},
      {R"({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3})",
       {"[1,2]", "[1, 2.5, 3e4]"},
       {"[]", "[1]", "[1,2,3,4]", "[1,\"2\"]"}},
      {R"({"type": "array", "items": {"enum": ["x", 2, null]}})",
       {"[]", "[\"x\",2,null]"},
       {"[\"y\"]", "[,2]"}},
      {R"({"type": "array", "minItems": 2})", {"[1,[]]", "[1,2,3,4,5]"}, {"[1]"}},
      {R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"}},
      {R"({"const": {"a": [1]}})", {R"({"a":[1]})"}, {R"({"a":[2]})"}},
      {R"({"type": ["string", "null"], "description": "d"})", {"null", "\"\""}, {"1", "true"}},
      {R"({"anyOf": [{"type": "integer"}, {"const": "many"}]})", {"7", "\"many\""}, {"\"few\""}},
      {R"({"enum": ["\"é"]})", {"\"\\\"é\""}, {"\"é\""}},
      {R"({"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"},
           {"type": "null"}]}}, "required": ["v", "next"], "additionalProperties": false})",
       {R"({"v":1,"next":{"v":2,"next":null}})"},
       {R"({"v":1,"next":{"v":2}})"}},
      {R"({"$ref": "#/$defs/p", "$defs": {"p": {"type": "boolean"}}})", {"true"}, {"1"}},
  };
  for (const SchemaCase& c : cases) {
    const absl::StatusOr<Grammar> grammar = JsonOfSchema(c.schema);
    ASSERT_TRUE(grammar.ok()) << c.schema << ": " << grammar.status();
    GrammarAutomaton automaton(*grammar);
    for (const char* text : c.texts)
      EXPECT_TRUE(IsText(&automaton, text)) << c.schema << "\n" << text;
    for (const char* text : c.others)
      EXPECT_FALSE(IsText(&automaton, text)) << c.schema << "\n" << text;
  }
}

TEST(JsonSchema, WhatItGeneratesHasTheDeclaredMembers) {
  const absl::StatusOr<Grammar> grammar = JsonOfSchema(
      R"({"type": "object", "properties": {"why": {"enum": ["late", "broken"]}, "items": {"type": "array",
          "items": {"type": "string"}, "maxItems": 3}, "total": {"type": "integer"}},
          "required": ["why", "total"], "additionalProperties": false})");
  ASSERT_TRUE(grammar.ok()) << grammar.status();
  GrammarAutomaton automaton(*grammar);
  std::minstd_rand random(3);
  for (int i = 0; i < 200; ++i) {
    const std::string text = RandomText(&automaton, 0, &random);
    const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    ASSERT_TRUE(json.is_object() && json.contains("why") && json.contains("total")) << text;
    EXPECT_TRUE(json["why"] == "late" || json["why"] == "broken") << text;
    EXPECT_TRUE(json["total"].is_number_integer()) << text;
    EXPECT_LE(json.size(), 3u) << text;
  }
}

TEST(JsonSchema, WhatIsNotSupportedIsRefusedByName) {
  const std::pair<const char*, const char*> unsupported[] = {
      {R"({"type": "string", "pattern": "a+"})", "\"pattern\""},
      {R"({"type": "integer", "minimum": 3})", "\"minimum\""},
      {R"({"allOf": []})", "\"allOf\""},
      {R"({"type": "object", "properties": {"a": {"type": "array", "items": {"format": "date"}}}})",
       "the schema.a.items has the keyword \"format\""},
      {R"({"type": "object", "additionalProperties": {"type": "string"}})",
       "additionalProperties"}};
  for (const auto& [schema, what] : unsupported) {
    const absl::Status status = JsonOfSchema(schema).status();
    EXPECT_TRUE(absl::IsUnimplemented(status)) << schema << ": " << status;
    EXPECT_NE(std::string(status.message()).find(what), std::string::npos) << status;
  }
}

TEST(JsonSchema, WhatIsNoSchemaIsAnError) {
  std::string deep;
  for (int i = 0; i < 3000; ++i) deep += R"({"items": )";
  deep += "{}" + std::string(3000, '}');
  for (const std::string& schema :
       {std::string("{"), std::string("7"), std::string("false"),
        std::string(R"({"type": "text"})"), std::string(R"({"type": []})"),
        std::string(R"({"enum": []})"), std::string(R"({"anyOf": []})"),
        std::string(R"({"type": "object", "required": 1})"),
        std::string(R"({"type": "object", "required": ["a"]})"),
        std::string(R"({"type": "object", "required": "a"})"),
        std::string(R"({"type": "object", "properties": [1]})"),
        std::string(R"({"$ref": "http://x"})"), std::string(R"({"$ref": "#/a/b"})"),
        std::string(R"({"$ref": "#a"})"), std::string(R"({"$ref": 1})"),
        std::string(R"({"type": "array", "minItems": 2, "maxItems": 1})"),
        std::string(R"({"type": "array", "maxItems": 100000})"), deep}) {
    EXPECT_TRUE(absl::IsInvalidArgument(JsonOfSchema(schema).status())) << schema.substr(0, 80);
  }
}

// A schema that describes no text: nothing comes, and nothing hangs.
TEST(JsonSchema, ASchemaWithoutATextEnds) {
  for (const char* schema : {R"({"$ref": "#"})", R"({"anyOf": [{"$ref": "#"}]})"}) {
    const absl::StatusOr<Grammar> grammar = JsonOfSchema(schema);
    ASSERT_TRUE(grammar.ok()) << grammar.status();
    EXPECT_EQ(GrammarAutomaton(*grammar).start(), GrammarAutomaton::kNowhere);
  }
}

}  // namespace
}  // namespace reenact::local_engine
