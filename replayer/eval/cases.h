// The cases of an eval: a JSON object a line.
//
//   {"id": "refund-1", "system": "You refund.", "prompt": "Order A-7 is broken", "exact": "120"}
//   {"id": "refund-2", "messages": [...], "regex": "\\b120\\b"}
//   {"id": "refund-3", "prompt": "As JSON", "json_schema": {"type": "object", "required":
//   ["total"]}}
//   {"id": "refund-4", "prompt": "...", "command": "./grade.sh"}   0 passes, 1 fails; else no grade
//   {"id": "refund-5", "prompt": "...", "judge": "Is the answer polite?"}

#ifndef REENACT_REPLAYER_EVAL_CASES_H_
#define REENACT_REPLAYER_EVAL_CASES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::eval {

enum class GraderKind : uint8_t { kExact, kRegex, kJsonSchema, kCommand, kJudge };
std::string_view ToString(GraderKind kind);  // "json_schema"

struct Case {
  std::string id;
  std::string messages;  // A JSON list, as OpenAI's chat API takes it.
  GraderKind grader = GraderKind::kExact;
  std::string expected;  // Text, pattern, schema (JSON), command line, or the judge's question.
};

// Errors: InvalidArgument with the line: no JSON object, an unknown key, an id that is there twice,
// no prompt, none or several graders, a pattern or a schema that cannot be read.
absl::StatusOr<std::vector<Case>> ParseCases(std::string_view text);

// The prompts alone, each a JSON list of messages; what else a line holds does not matter.
// Errors: InvalidArgument with the line.
absl::StatusOr<std::vector<std::string>> ParsePrompts(std::string_view text);

struct Grade {
  std::optional<double> score;  // Absent: it could not be graded, `why` says why.
  std::string why;
};

// For kExact (apart from spaces around it), kRegex (found anywhere, ECMAScript) and kJsonSchema.
Grade GradeText(const Case& of, const std::string& answer);

// What is wrong with a JSON text by a schema; empty: nothing. Knows type, enum, const, properties,
// required, additionalProperties, items, minItems, maxItems, minimum, maximum, minLength,
// maxLength, pattern, anyOf, allOf, oneOf, not. Errors: InvalidArgument for a schema with another
// keyword that restricts: it would not be checked.
absl::StatusOr<std::string> SchemaViolation(std::string_view schema, std::string_view json);

// What a judge is asked, and what its answer means: a number from 0 to 1, or PASS or FAIL, as the
// last word of it. Nothing: it said neither.
std::string JudgeMessages(const Case& of, const std::string& answer);
std::optional<double> JudgeScore(const std::string& answer);

}  // namespace reenact::eval

#endif  // REENACT_REPLAYER_EVAL_CASES_H_
