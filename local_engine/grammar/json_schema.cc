// Each part of a schema becomes a rule. The error that came first is kept, and what is made after
// it is thrown away.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/grammar/json_grammar.h"

namespace reenact::local_engine {
namespace {

using nlohmann::ordered_json;
using Element = Grammar::Element;
using Sequence = Grammar::Sequence;

constexpr int64_t kMostItems = 1000;
constexpr size_t kMostParts = 10'000;
constexpr int kDeepest = 64;

const std::set<std::string> kUnderstood = {
    "type",  "properties", "required", "additionalProperties",
    "items", "minItems",   "maxItems", "enum",
    "const", "anyOf",      "$ref"};
const std::set<std::string> kSaysNothing = {
    "title",    "description", "default",     "examples", "$schema",   "$id",
    "$comment", "$defs",       "definitions", "readOnly", "writeOnly", "deprecated"};

class SchemaReader {
 public:
  SchemaReader(const ordered_json& root, JsonGrammar* json)
      : root_(root), json_(*json), grammar_(*json->grammar()) {}

  absl::StatusOr<Element> Read() {
    const Element element = Part(root_, "the schema");
    if (!status_.ok()) return status_;
    return element;
  }

 private:
  Element Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
    return grammar_.AddRule();
  }

  Element Wrong(const std::string& where, const std::string& what) {
    return Fail(absl::InvalidArgumentError(where + " " + what));
  }

  // The rule of a part, made when it is first met: a part may hold a reference to itself.
  Element Part(const ordered_json& schema, const std::string& where) {
    const auto found = rules_.find(&schema);
    if (found != rules_.end()) return found->second;
    if (rules_.size() == kMostParts) return Wrong(where, "is one part too many");
    if (depth_ == kDeepest) return Wrong(where, "is nested too deeply");
    const Element rule = grammar_.AddRule();
    rules_.emplace(&schema, rule);
    ++depth_;
    if (status_.ok()) grammar_.AddAlternative(rule, {Meaning(schema, where)});
    --depth_;
    return rule;
  }

  Element Meaning(const ordered_json& schema, const std::string& where) {
    if (schema.is_boolean() && schema.get<bool>()) return json_.value();
    if (!schema.is_object()) return Wrong(where, "is no schema");
    for (const auto& [key, value] : schema.items()) {
      if (kUnderstood.contains(key) || kSaysNothing.contains(key)) continue;
      return Fail(absl::UnimplementedError(where + " has the keyword \"" + key +
                                           "\", which is not supported"));
    }
    if (schema.contains("$ref")) return Referred(schema["$ref"], where);
    if (schema.contains("const")) return OneOf(ordered_json::array({schema["const"]}));
    if (schema.contains("enum")) {
      const ordered_json& values = schema["enum"];
      if (!values.is_array() || values.empty()) return Wrong(where, "has an enum without values");
      return OneOf(values);
    }
    if (schema.contains("anyOf")) return AnyOf(schema["anyOf"], where);
    return OfType(schema, where);
  }

  Element Referred(const ordered_json& reference, const std::string& where) {
    const std::string text = reference.is_string() ? reference.get<std::string>() : "";
    if (!text.starts_with("#")) return Wrong(where, "has a $ref that leads out of the schema");
    if (text == "#") return Part(root_, where);
    // A pointer that is none throws.
    if (text[1] != '/' || text.find('~') != std::string::npos) {
      return Wrong(where, "has a $ref that leads nowhere");
    }
    const ordered_json* at = &root_;
    for (size_t begin = 2; begin <= text.size();) {
      const size_t end = std::min(text.find('/', begin), text.size());
      const std::string name = text.substr(begin, end - begin);
      if (!at->is_object() || !at->contains(name)) {
        return Wrong(where, "has a $ref that leads nowhere: " + text);
      }
      at = &(*at)[name];
      begin = end + 1;
    }
    return Part(*at, text);
  }

  Element OneOf(const ordered_json& values) {
    const Element rule = grammar_.AddRule();
    for (const ordered_json& value : values) {
      grammar_.AddAlternative(rule, Grammar::Literal(value.dump()));
    }
    return rule;
  }

  Element AnyOf(const ordered_json& parts, const std::string& where) {
    if (!parts.is_array() || parts.empty()) return Wrong(where, "has an anyOf without parts");
    const Element rule = grammar_.AddRule();
    for (size_t i = 0; i < parts.size(); ++i) {
      grammar_.AddAlternative(rule, {Part(parts[i], where + ".anyOf[" + std::to_string(i) + "]")});
    }
    return rule;
  }

  Element OfType(const ordered_json& schema, const std::string& where) {
    if (!schema.contains("type")) {
      if (schema.contains("properties")) return Object(schema, where);
      return schema.contains("items") ? Array(schema, where) : json_.value();
    }
    ordered_json types = schema["type"];
    if (types.is_string()) types = ordered_json::array({types});
    if (!types.is_array() || types.empty()) return Wrong(where, "has a type that is none");
    const Element rule = grammar_.AddRule();
    for (const ordered_json& type : types) {
      if (type == "object") {
        grammar_.AddAlternative(rule, {Object(schema, where)});
      } else if (type == "array") {
        grammar_.AddAlternative(rule, {Array(schema, where)});
      } else if (type == "string") {
        grammar_.AddAlternative(rule, {json_.string()});
      } else if (type == "integer") {
        grammar_.AddAlternative(rule, {json_.integer()});
      } else if (type == "number") {
        grammar_.AddAlternative(rule, {json_.number()});
      } else if (type == "boolean") {
        grammar_.AddAlternative(rule, Grammar::Literal("true"));
        grammar_.AddAlternative(rule, Grammar::Literal("false"));
      } else if (type == "null") {
        grammar_.AddAlternative(rule, Grammar::Literal("null"));
      } else {
        return Wrong(where, "has the type " + type.dump() + ", which is none");
      }
    }
    return rule;
  }

  // From `first` items on; those up to maxItems, or any number.
  Element Array(const ordered_json& schema, const std::string& where) {
    const auto bound = [&](const char* name, int64_t otherwise) {
      if (!schema.contains(name)) return otherwise;
      const ordered_json& value = schema[name];
      if (value.is_number_unsigned() && value.get<uint64_t>() <= kMostItems) {
        return value.get<int64_t>();
      }
      Wrong(where, std::string("has a ") + name + " that is no number up to 1000");
      return otherwise;
    };
    const Element item =
        schema.contains("items") ? Part(schema["items"], where + ".items") : json_.value();
    const int64_t least = bound("minItems", 0);
    const int64_t most = bound("maxItems", -1);
    if (most >= 0 && most < least) return Wrong(where, "has a maxItems below its minItems");
    const Element& space = json_.space();
    const Sequence next = {Grammar::Bytes(","), space, item, space};
    // rest[i]: what may follow i items.
    Element rest = grammar_.AddRule({{}});
    if (most < 0) grammar_.AddAlternative(rest, Grammar::Join({next, {rest}}));
    for (int64_t i = most < 0 ? least : most; i > 1; --i) {
      const Element shorter = grammar_.AddRule({Grammar::Join({next, {rest}})});
      if (i > least) grammar_.AddAlternative(shorter, {});
      rest = shorter;
    }
    const Element items = grammar_.AddRule();
    if (least == 0) grammar_.AddAlternative(items, {});
    if (most != 0) grammar_.AddAlternative(items, {item, space, rest});
    return grammar_.AddRule({{Grammar::Bytes("["), space, items, Grammar::Bytes("]")}});
  }

  // From the last property to the first, each in two forms: with a comma before it where something
  // was written, without one where nothing was.
  Element Object(const ordered_json& schema, const std::string& where) {
    if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object()) {
      return Fail(absl::UnimplementedError(
          where + " has additionalProperties with a schema, which is not supported"));
    }
    const ordered_json none = ordered_json::object();
    const ordered_json& properties = schema.contains("properties") ? schema["properties"] : none;
    if (!properties.is_object()) return Wrong(where, "has properties that are no object");
    const bool closed =
        schema.contains("additionalProperties") && schema["additionalProperties"] == false;
    std::set<std::string> required;
    const ordered_json names = schema.value("required", ordered_json::array());
    if (!names.is_array()) return Wrong(where, "has a required that is no list");
    for (const ordered_json& name : names) {
      if (!name.is_string() || !properties.contains(name.get<std::string>())) {
        return Wrong(where, "requires a property that it does not declare: " + name.dump());
      }
      required.insert(name.get<std::string>());
    }
    if (properties.empty() && !closed) return json_.object();
    const Element& space = json_.space();
    Element after = grammar_.AddRule({{}});
    Element at_first = grammar_.AddRule({{}});
    for (auto property = properties.rbegin(); property != properties.rend(); ++property) {
      const Sequence member =
          Grammar::Join({Grammar::Literal(ordered_json(property.key()).dump()),
                         {space, Grammar::Bytes(":"), space,
                          Part(property.value(), where + "." + property.key()), space, after}});
      const Element later =
          grammar_.AddRule({Grammar::Join({{Grammar::Bytes(","), space}, member})});
      const Element first = grammar_.AddRule({member});
      if (!required.contains(property.key())) {
        grammar_.AddAlternative(later, {after});
        grammar_.AddAlternative(first, {at_first});
      }
      after = later;
      at_first = first;
    }
    return grammar_.AddRule({{Grammar::Bytes("{"), space, at_first, Grammar::Bytes("}")}});
  }

  const ordered_json& root_;
  JsonGrammar& json_;
  Grammar& grammar_;
  std::map<const ordered_json*, Element> rules_;
  int depth_ = 0;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Element> AddJsonSchema(std::string_view schema, JsonGrammar* json) {
  const ordered_json parsed = ordered_json::parse(schema, nullptr, false);
  if (parsed.is_discarded()) return absl::InvalidArgumentError("the schema is not JSON");
  return SchemaReader(parsed, json).Read();
}

}  // namespace reenact::local_engine
