// JSON as a grammar, whole or held to a JSON Schema.
//
// Every text of these languages is JSON in valid UTF-8 that any reader takes: no lone surrogates, a
// bound on digits. White space is bounded too (a space, or a line feed and an indentation), so that
// a model cannot write nothing but space.

#ifndef REENACT_LOCAL_ENGINE_GRAMMAR_JSON_GRAMMAR_H_
#define REENACT_LOCAL_ENGINE_GRAMMAR_JSON_GRAMMAR_H_

#include <string_view>

#include "absl/status/statusor.h"

#include "local_engine/grammar/grammar.h"

namespace reenact::local_engine {

// The rules of JSON in a grammar: the grammar outlives it.
class JsonGrammar {
 public:
  explicit JsonGrammar(Grammar* grammar);

  Grammar* grammar() const { return grammar_; }

  const Grammar::Element& space() const { return space_; }

  const Grammar::Element& string() const { return string_; }

  const Grammar::Element& integer() const { return integer_; }

  const Grammar::Element& number() const { return number_; }

  const Grammar::Element& object() const { return object_; }

  const Grammar::Element& array() const { return array_; }

  // Any value.
  const Grammar::Element& value() const { return value_; }

  // `open`, any number of items with commas between them, `close`.
  Grammar::Element Enclosed(char open, const Grammar::Element& item, char close);

 private:
  Grammar* grammar_;
  Grammar::Element space_;
  Grammar::Element string_;
  Grammar::Element integer_;
  Grammar::Element number_;
  Grammar::Element value_;
  Grammar::Element array_;
  Grammar::Element object_;
};

// What a JSON Schema describes, as far as these keywords say: type (one or a list), properties,
// required, additionalProperties, items, minItems and maxItems up to 1,000, enum, const, anyOf, and
// $ref to a part of the same schema. Properties come in the order in which they are declared, and
// no others do; title, description, default, examples and their kin say nothing.
// Errors: InvalidArgument for what is no schema; Unimplemented names a keyword that is not among
// these.
absl::StatusOr<Grammar::Element> AddJsonSchema(std::string_view schema, JsonGrammar* json);

// A grammar of any JSON object, and of what a schema describes. Errors as above.
Grammar AnyJsonObject();
absl::StatusOr<Grammar> JsonOfSchema(std::string_view schema);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_GRAMMAR_JSON_GRAMMAR_H_
