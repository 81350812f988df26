// One rendering: walks the tree with the variables given, and collects what it prints.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_INTERPRETER_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_INTERPRETER_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/civil_time.h"

#include "local_engine/chat_template/internal/budget.h"
#include "local_engine/chat_template/internal/callable.h"
#include "local_engine/chat_template/internal/syntax_tree.h"
#include "local_engine/chat_template/internal/value.h"

namespace reenact::local_engine {

using Variables = std::vector<std::pair<std::string, Value>>;

// The variables of a template, loop body, macro or block; names not found are looked up further
// out.
struct Scope {
  Scope* outer = nullptr;
  Variables variables;
  bool captured = false;  // By a macro, which needs it for as long as the rendering lasts.
};

class Interpreter {
 public:
  struct Limits {
    int64_t work;
    size_t output_bytes;
  };

  Interpreter(Limits limits, std::optional<absl::CivilSecond> now)
      : budget_(limits.work), limits_(limits), now_(now) {}

  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Once. Throws TemplateError; Where() then says where.
  std::string Run(const Body& body, Variables variables);
  // "line 3, in filter 'tojson'"
  std::string Where() const;

  // For filters, tests and functions.
  Budget* budget() { return &budget_; }

  const std::optional<absl::CivilSecond>& now() const { return now_; }

  // str(value), charged.
  std::string TextOf(const Value& value);
  // value.name: attributes before items. value[key]: items before attributes. Undefined where there
  // is neither.
  Value Attribute(const Value& object, const std::string& name);
  Value Item(const Value& object, const Value& key);
  Value ApplyFilter(const std::string& name, const Value& operand, const Arguments& arguments);
  bool ApplyTest(const std::string& name, const Value& operand, const Arguments& arguments);
  Value NewNamespace(std::vector<std::pair<std::string, Value>> attributes);

 private:
  enum class Flow { kNext, kBreak, kContinue };
  class Depth;
  class InnerScope;

  Flow Execute(const Body& body);
  Flow Run(const OutputText& statement);
  Flow Run(const OutputExpression& statement);
  Flow Run(const IfStatement& statement);
  Flow Run(const ForStatement& statement);
  Flow Run(const SetStatement& statement);
  Flow Run(const SetBlock& statement);
  Flow Run(const MacroStatement& statement);
  Flow Run(const CallBlock& statement);
  Flow Run(const FilterBlock& statement);
  Flow Run(const WithBlock& statement);
  Flow Run(const LoopExit& statement);
  SequencePtr LoopItems(const ForStatement& statement);
  std::string Capture(const Body& body);
  Value Filtered(std::string text, const std::vector<ExpressionPtr>& filters);
  void Print(std::string_view text);
  void Assign(const Target& target, Value value);
  void AssignParts(const std::vector<Target>& parts, const Value& value);
  void SetVariable(const std::string& name, Value value);
  const Value* FindVariable(std::string_view name);  // Null where it is not set.
  Value NewMacro(const std::shared_ptr<const MacroDefinition>& macro);

  Value Evaluate(const Expression& expression);

  Value Evaluate(const Literal& e) { return e.value; }

  Value Evaluate(const NameReference& e);
  Value Evaluate(const SequenceDisplay& e);
  Value Evaluate(const DictDisplay& e);
  Value Evaluate(const Unary& e);
  Value Evaluate(const Binary& e);
  Value Evaluate(const Concatenation& e);
  Value Evaluate(const Comparison& e);
  Value Evaluate(const Conditional& e);
  Value Evaluate(const AttributeOf& e);
  Value Evaluate(const Subscript& e);
  Value Evaluate(const SliceOf& e);
  Value Evaluate(const CallOf& e);
  Value Evaluate(const FilterCall& e);
  Value Evaluate(const TestCall& e);
  Arguments EvaluateArguments(const CallArguments& arguments);
  Value Call(const Value& callee, const Arguments& arguments);
  Value CallMacro(const Callable& macro, const Arguments& arguments);
  Value LoopAttribute(const std::shared_ptr<Loop>& loop, const std::string& name);

  // What is at work, for errors: "in {% for %}", "in filter 'tojson'", "in call of 'split'".
  struct Place {
    int line = 0;
    const char* kind = "";
    const std::string* name = nullptr;                   // In the tree.
    std::shared_ptr<const Callable> callable = nullptr;  // Kept: an error is told after its end.
  };

  Budget budget_;
  Limits limits_;
  std::optional<absl::CivilSecond> now_;
  Place place_;
  int depth_ = 0;
  std::string* out_ = nullptr;
  Scope* scope_ = nullptr;
  std::deque<Scope> scopes_;         // All of them; those that are free to be used again are
  std::vector<Scope*> free_scopes_;  // listed here.
  std::deque<Namespace> namespaces_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_INTERPRETER_H_
