#include "replayer/eval/cases.h"

#include <array>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "nlohmann/json.hpp"

namespace reenact::eval {
namespace {

using Json = nlohmann::ordered_json;

// std::regex recurses once a character.
constexpr size_t kLongestForRegex = size_t{64} << 10;

constexpr std::array kGraders = {GraderKind::kExact, GraderKind::kRegex, GraderKind::kJsonSchema,
                                 GraderKind::kCommand, GraderKind::kJudge};

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::regex> Compiled(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

std::optional<bool> Found(const std::string& pattern, const std::string& text) {
  const auto regex = Compiled(pattern);
  if (!regex || text.size() > kLongestForRegex) return std::nullopt;
  try {
    return std::regex_search(text, *regex);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

absl::StatusOr<std::string> MessagesOf(const Json& line) {
  if (line.contains("messages")) {
    if (line.contains("prompt") || line.contains("system"))
      return absl::InvalidArgumentError("has messages and a prompt: one of them");
    if (!line["messages"].is_array() || line["messages"].empty())
      return absl::InvalidArgumentError("\"messages\" is no list of messages");
    return Dump(line["messages"]);
  }
  if (!line.contains("prompt") || !line["prompt"].is_string())
    return absl::InvalidArgumentError("has neither a prompt nor messages");
  Json messages = Json::array();
  if (line.contains("system")) {
    if (!line["system"].is_string()) return absl::InvalidArgumentError("\"system\" is no text");
    messages.push_back({{"role", "system"}, {"content", line["system"]}});
  }
  messages.push_back({{"role", "user"}, {"content", line["prompt"]}});
  return Dump(messages);
}

absl::Status ReadGrader(const Json& line, Case* of) {
  int count = 0;
  for (const GraderKind kind : kGraders) {
    const std::string name(ToString(kind));
    if (!line.contains(name)) continue;
    ++count;
    of->grader = kind;
    const Json& value = line[name];
    if (kind != GraderKind::kJsonSchema && !value.is_string())
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no text"));
    of->expected = value.is_string() ? value.get<std::string>() : Dump(value);
  }
  if (count != 1)
    return absl::InvalidArgumentError("needs one of exact, regex, json_schema, command and judge");
  if (of->grader == GraderKind::kRegex && !Compiled(of->expected))
    return absl::InvalidArgumentError(absl::StrCat("\"", of->expected, "\" is no regex"));
  if (of->grader == GraderKind::kJsonSchema) {
    const auto violation = SchemaViolation(of->expected, "null");
    if (!violation.ok()) return violation.status();
  }
  return absl::OkStatus();
}

absl::StatusOr<Case> ReadCase(const Json& line) {
  static const std::set<std::string> kKnown = {"id",    "messages",    "prompt",  "system", "exact",
                                               "regex", "json_schema", "command", "judge"};
  if (!line.is_object()) return absl::InvalidArgumentError("is no JSON object");
  for (const auto& [key, value] : line.items()) {
    if (!kKnown.contains(key))
      return absl::InvalidArgumentError(absl::StrCat("\"", key, "\" is no known key"));
  }
  Case of;
  if (!line.contains("id") || !line["id"].is_string() || line["id"].empty())
    return absl::InvalidArgumentError("has no id");
  of.id = line["id"].get<std::string>();
  auto messages = MessagesOf(line);
  if (!messages.ok()) return messages.status();
  of.messages = *std::move(messages);
  if (absl::Status read = ReadGrader(line, &of); !read.ok()) return read;
  return of;
}

// Errors: of `read`, with the number of the line.
absl::Status ForEachLine(std::string_view text,
                         const std::function<absl::Status(const Json& line)>& read) {
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const absl::Status done = read(Json::parse(line, nullptr, false));
    if (!done.ok())
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", done.message()));
  }
  return absl::OkStatus();
}

bool HasType(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type == "integer")
    return value.is_number_integer() ||
           (value.is_number_float() &&
            value.get<double>() == static_cast<double>(static_cast<int64_t>(value.get<double>())));
  return false;
}

// Walks a value and its schema together. `error_` is what the schema asks for and this cannot
// check.
class SchemaCheck {
 public:
  std::string Violation(const Json& schema, const Json& value, const std::string& place) {
    if (schema.is_boolean()) return schema.get<bool>() ? "" : place + " is not allowed";
    if (!schema.is_object()) {
      error_ = "a schema is an object";
      return "";
    }
    for (const auto& [keyword, rule] : schema.items()) {
      std::string violation = Apply(keyword, rule, schema, value, place);
      if (!violation.empty() || !error_.empty()) return violation;
    }
    return "";
  }

  const std::string& error() const { return error_; }

 private:
  using Check = std::string (SchemaCheck::*)(const Json&, const Json&, const Json&,
                                             const std::string&);

  std::string Apply(const std::string& keyword, const Json& rule, const Json& schema,
                    const Json& value, const std::string& place) {
    static const std::set<std::string> kAnnotations = {
        "$schema", "$id", "title", "description", "default", "examples", "$comment"};
    static const std::map<std::string, Check> kChecks = {
        {"type", &SchemaCheck::Type},         {"enum", &SchemaCheck::Enum},
        {"const", &SchemaCheck::Const},       {"properties", &SchemaCheck::Properties},
        {"required", &SchemaCheck::Required}, {"additionalProperties", &SchemaCheck::Additional},
        {"items", &SchemaCheck::Items},       {"anyOf", &SchemaCheck::AnyOf},
        {"allOf", &SchemaCheck::AllOf},       {"oneOf", &SchemaCheck::OneOf},
        {"not", &SchemaCheck::Not},           {"pattern", &SchemaCheck::Pattern}};
    if (kAnnotations.contains(keyword)) return "";
    if (const auto check = kChecks.find(keyword); check != kChecks.end())
      return (this->*check->second)(rule, schema, value, place);
    return Bound(keyword, rule, value, place);
  }

  std::string Type(const Json& rule, const Json&, const Json& value, const std::string& place) {
    const Json types = rule.is_array() ? rule : Json::array({rule});
    for (const Json& type : types) {
      if (type.is_string() && HasType(value, type.get<std::string>())) return "";
    }
    return absl::StrCat(place, " is no ", Dump(rule));
  }

  std::string Enum(const Json& rule, const Json&, const Json& value, const std::string& place) {
    for (const Json& allowed : rule) {
      if (allowed == value) return "";
    }
    return absl::StrCat(place, " is none of ", Dump(rule));
  }

  std::string Const(const Json& rule, const Json&, const Json& value, const std::string& place) {
    return rule == value ? "" : absl::StrCat(place, " is not ", Dump(rule));
  }

  std::string Properties(const Json& rule, const Json&, const Json& value,
                         const std::string& place) {
    for (const auto& [name, schema] : rule.items()) {
      // Looked at even where it is absent, so that a schema that cannot be checked is told.
      const bool there = value.is_object() && value.contains(name);
      std::string violation =
          Violation(schema, there ? value[name] : Json(), absl::StrCat(place, "/", name));
      if (there && !violation.empty()) return violation;
    }
    return "";
  }

  std::string Required(const Json& rule, const Json&, const Json& value, const std::string& place) {
    for (const Json& name : rule) {
      if (value.is_object() && name.is_string() && !value.contains(name.get<std::string>()))
        return absl::StrCat(place, " has no ", name.get<std::string>());
    }
    return "";
  }

  std::string Additional(const Json& rule, const Json& schema, const Json& value,
                         const std::string& place) {
    if (!value.is_object()) return "";
    for (const auto& [name, member] : value.items()) {
      if (schema.contains("properties") && schema["properties"].contains(name)) continue;
      std::string violation = Violation(rule, member, absl::StrCat(place, "/", name));
      if (!violation.empty()) return violation;
    }
    return "";
  }

  std::string Items(const Json& rule, const Json&, const Json& value, const std::string& place) {
    if (!value.is_array()) return "";
    for (size_t i = 0; i < value.size(); ++i) {
      std::string violation = Violation(rule, value[i], absl::StrCat(place, "/", i));
      if (!violation.empty()) return violation;
    }
    return "";
  }

  int64_t CountOf(const Json& rule, const Json& value, const std::string& place) {
    int64_t count = 0;
    for (const Json& schema : rule) count += Violation(schema, value, place).empty() ? 1 : 0;
    return count;
  }

  std::string AnyOf(const Json& rule, const Json&, const Json& value, const std::string& place) {
    return CountOf(rule, value, place) > 0 ? "" : place + " fits no alternative";
  }

  std::string OneOf(const Json& rule, const Json&, const Json& value, const std::string& place) {
    return CountOf(rule, value, place) == 1 ? "" : place + " does not fit exactly one alternative";
  }

  std::string AllOf(const Json& rule, const Json&, const Json& value, const std::string& place) {
    for (const Json& schema : rule) {
      std::string violation = Violation(schema, value, place);
      if (!violation.empty()) return violation;
    }
    return "";
  }

  std::string Not(const Json& rule, const Json&, const Json& value, const std::string& place) {
    return Violation(rule, value, place).empty() ? place + " is what it must not be" : "";
  }

  std::string Pattern(const Json& rule, const Json&, const Json& value, const std::string& place) {
    if (!rule.is_string() || !Compiled(rule.get<std::string>())) {
      error_ = "a pattern is no regex";
      return "";
    }
    if (!value.is_string()) return "";
    return Found(rule.get<std::string>(), value.get<std::string>()).value_or(false)
               ? ""
               : absl::StrCat(place, " does not match ", rule.get<std::string>());
  }

  std::string Bound(const std::string& keyword, const Json& rule, const Json& value,
                    const std::string& place) {
    static const std::map<std::string, std::pair<const char*, bool>> kBounds = {
        {"minimum", {"number", true}},   {"maximum", {"number", false}},
        {"minLength", {"string", true}}, {"maxLength", {"string", false}},
        {"minItems", {"array", true}},   {"maxItems", {"array", false}}};
    const auto bound = kBounds.find(keyword);
    if (bound == kBounds.end() || !rule.is_number()) {
      error_ = absl::StrCat("\"", keyword, "\" of the schema would not be checked");
      return "";
    }
    const auto& [type, is_least] = bound->second;
    if (!HasType(value, type)) return "";
    const double size = value.is_number()   ? value.get<double>()
                        : value.is_string() ? CharacterCount(value.get<std::string>())
                                            : static_cast<double>(value.size());
    const bool fits = is_least ? size >= rule.get<double>() : size <= rule.get<double>();
    return fits ? "" : absl::StrCat(place, " breaks ", keyword, " ", Dump(rule));
  }

  static double CharacterCount(const std::string& text) {
    double count = 0;
    for (const char byte : text) count += (static_cast<uint8_t>(byte) & 0xc0) != 0x80 ? 1 : 0;
    return count;
  }

  std::string error_;
};

}  // namespace

std::string_view ToString(GraderKind kind) {
  switch (kind) {
    case GraderKind::kExact:
      return "exact";
    case GraderKind::kRegex:
      return "regex";
    case GraderKind::kJsonSchema:
      return "json_schema";
    case GraderKind::kCommand:
      return "command";
    case GraderKind::kJudge:
      return "judge";
  }
  return "";
}

absl::StatusOr<std::vector<Case>> ParseCases(std::string_view text) {
  std::vector<Case> cases;
  std::set<std::string> ids;
  const absl::Status read = ForEachLine(text, [&](const Json& line) {
    auto of = ReadCase(line);
    if (!of.ok()) return of.status();
    if (!ids.insert(of->id).second)
      return absl::InvalidArgumentError(absl::StrCat("\"", of->id, "\" is there twice"));
    cases.push_back(*std::move(of));
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  if (cases.empty()) return absl::InvalidArgumentError("there is no case in it");
  return cases;
}

absl::StatusOr<std::vector<std::string>> ParsePrompts(std::string_view text) {
  std::vector<std::string> prompts;
  const absl::Status read = ForEachLine(text, [&](const Json& line) {
    if (!line.is_object()) return absl::InvalidArgumentError("is no JSON object");
    auto messages = MessagesOf(line);
    if (messages.ok()) prompts.push_back(*std::move(messages));
    return messages.status();
  });
  if (!read.ok()) return read;
  if (prompts.empty()) return absl::InvalidArgumentError("there is no prompt in it");
  return prompts;
}

absl::StatusOr<std::string> SchemaViolation(std::string_view schema, std::string_view json) {
  const Json rules = Json::parse(schema, nullptr, false);
  if (rules.is_discarded()) return absl::InvalidArgumentError("the schema is no JSON");
  const Json value = Json::parse(json, nullptr, false);
  SchemaCheck check;
  std::string violation = check.Violation(rules, value.is_discarded() ? Json() : value, "answer");
  if (!check.error().empty()) return absl::InvalidArgumentError(check.error());
  return value.is_discarded() ? "the answer is no JSON" : violation;
}

Grade GradeText(const Case& of, const std::string& answer) {
  if (of.grader == GraderKind::kExact) {
    const bool equal =
        absl::StripAsciiWhitespace(answer) == absl::StripAsciiWhitespace(of.expected);
    return {equal ? 1.0 : 0.0, equal ? "" : "another text"};
  }
  if (of.grader == GraderKind::kRegex) {
    const std::optional<bool> found = Found(of.expected, answer);
    if (!found) return {std::nullopt, "the answer is too long for a regex"};
    return {*found ? 1.0 : 0.0, *found ? "" : "not found"};
  }
  if (of.grader == GraderKind::kJsonSchema) {
    const auto violation = SchemaViolation(of.expected, answer);
    if (!violation.ok()) return {std::nullopt, std::string(violation.status().message())};
    return {violation->empty() ? 1.0 : 0.0, *violation};
  }
  return {std::nullopt, "not graded by its text"};
}

std::string JudgeMessages(const Case& of, const std::string& answer) {
  const std::string question =
      absl::StrCat("Judge an answer by one criterion.\n\nThe conversation:\n", of.messages,
                   "\n\nThe answer:\n", answer, "\n\nThe criterion: ", of.expected,
                   "\n\nEnd with one word alone: PASS or FAIL, or a number from 0 to 1.");
  return Dump(Json::array({{{"role", "user"}, {"content", question}}}));
}

std::optional<double> JudgeScore(const std::string& answer) {
  absl::string_view rest = absl::StripAsciiWhitespace(answer);
  while (!rest.empty() && (rest.back() == '.' || rest.back() == '*' || rest.back() == '"'))
    rest.remove_suffix(1);
  const size_t space = rest.find_last_of(" \t\r\n*:\"");
  const std::string word(space == absl::string_view::npos ? rest : rest.substr(space + 1));
  if (word == "PASS") return 1;
  if (word == "FAIL") return 0;
  double score = 0;
  if (!absl::SimpleAtod(word, &score) || !(score >= 0 && score <= 1)) return std::nullopt;
  return score;
}

}  // namespace reenact::eval
