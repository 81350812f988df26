// Statements. Expressions are in evaluator.cc.

#include "local_engine/chat_template/internal/interpreter.h"

#include "local_engine/chat_template/internal/builtins.h"
#include "local_engine/chat_template/internal/interpreter_scopes.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/python_text.h"
#include "local_engine/chat_template/internal/template_error.h"

namespace reenact::local_engine {
namespace {

// In the order of StatementVariant.
constexpr const char* kStatementNames[] = {
    "text",        "{{ }}",      "{% if %}",     "{% for %}",  "{% set %}",  "{% set %}",
    "{% macro %}", "{% call %}", "{% filter %}", "{% with %}", "{% break %}"};

}  // namespace

std::string Interpreter::Run(const Body& body, Variables variables) {
  std::string out;
  out_ = &out;
  scope_ = &scopes_.emplace_back();
  for (const NamedFunction& function : GlobalFunctions()) {
    scope_->variables.emplace_back(
        function.name, Value(std::make_shared<const Callable>(Callable{
                           std::string(function.name), function.function, {}, nullptr, nullptr})));
  }
  for (auto& [name, value] : variables) SetVariable(name, std::move(value));
  Execute(body);
  return out;
}

std::string Interpreter::Where() const {
  std::string where = "line " + std::to_string(place_.line) + ", in " + place_.kind;
  const std::string* name = place_.callable != nullptr ? &place_.callable->name : place_.name;
  if (name != nullptr) where += " '" + *name + "'";
  return where;
}

Interpreter::Flow Interpreter::Execute(const Body& body) {
  const Depth depth(this);
  for (const Statement& statement : body) {
    place_ = {statement.line, kStatementNames[statement.variant.index()]};
    budget_.Charge(kStepWork);
    const Flow flow = std::visit([this](const auto& kind) { return Run(kind); }, statement.variant);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

void Interpreter::Print(std::string_view text) {
  budget_.Charge(static_cast<int64_t>(text.size()));
  if (text.size() > limits_.output_bytes - out_->size()) {
    throw TemplateError(
        "the output is larger than " + std::to_string(limits_.output_bytes) + " bytes",
        TemplateFault::kLimit);
  }
  *out_ += text;
}

std::string Interpreter::Capture(const Body& body) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  {
    const InnerScope scope(this, scope_);
    Execute(body);
  }
  out_ = outer;
  return text;
}

Value Interpreter::Filtered(std::string text, const std::vector<ExpressionPtr>& filters) {
  Value value = Value::String(std::move(text));
  for (const ExpressionPtr& filter : filters) {
    const auto& call = std::get<FilterCall>(filter->variant);
    const Arguments arguments = EvaluateArguments(call.arguments);
    place_ = {filter->line, "filter", &call.name};
    value = ApplyFilter(call.name, value, arguments);
  }
  return value;
}

Interpreter::Flow Interpreter::Run(const OutputText& statement) {
  Print(statement.text);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::Run(const OutputExpression& statement) {
  const Place place = place_;
  const Value value = Evaluate(*statement.expression);
  place_ = place;
  if (value.IsString()) {
    Print(value.Utf8());
  } else {
    Print(TextOf(value));
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::Run(const IfStatement& statement) {
  for (const IfStatement::Branch& branch : statement.branches) {
    if (branch.condition == nullptr || IsTrue(Evaluate(*branch.condition)))
      return Execute(branch.body);
  }
  return Flow::kNext;
}

SequencePtr Interpreter::LoopItems(const ForStatement& statement) {
  const Place place = place_;
  const Value iterable = Evaluate(*statement.iterable);
  place_ = place;
  const Sequence* sequence = iterable.AsSequence();
  if (sequence != nullptr && sequence->kind != SequenceKind::kGenerator &&
      statement.condition == nullptr) {
    return *iterable.As<SequencePtr>();
  }
  budget_.ChargeWalk(iterable);
  std::vector<Value> items = Iterate(iterable);
  budget_.Charge(static_cast<int64_t>(items.size()), kItemWork);
  if (statement.condition != nullptr) {
    std::vector<Value> chosen;
    for (Value& item : items) {
      const InnerScope scope(this, scope_);
      Assign(statement.target, item);
      if (IsTrue(Evaluate(*statement.condition))) chosen.push_back(std::move(item));
    }
    items = std::move(chosen);
  }
  return *Value::List(std::move(items)).As<SequencePtr>();
}

Interpreter::Flow Interpreter::Run(const ForStatement& statement) {
  const Place place = place_;
  const auto loop = std::make_shared<Loop>(Loop{LoopItems(statement)});
  if (loop->items->items.empty()) {
    const InnerScope scope(this, scope_);
    return Execute(statement.otherwise);
  }
  for (; loop->index < loop->items->items.size(); ++loop->index) {
    const InnerScope scope(this, scope_);
    place_ = place;
    budget_.Charge(kStepWork);
    SetVariable("loop", Value(loop));
    Assign(statement.target, loop->items->items[loop->index]);
    if (Execute(statement.body) == Flow::kBreak) break;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::Run(const SetStatement& statement) {
  const Place place = place_;
  Value value = Evaluate(*statement.value);
  place_ = place;
  Assign(statement.target, std::move(value));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::Run(const SetBlock& statement) {
  Assign(statement.target, Filtered(Capture(statement.body), statement.filters));
  return Flow::kNext;
}

Value Interpreter::NewMacro(const std::shared_ptr<const MacroDefinition>& macro) {
  for (Scope* scope = scope_; scope != nullptr; scope = scope->outer) scope->captured = true;
  budget_.Charge(16 * kItemWork);
  return Value(
      std::make_shared<const Callable>(Callable{macro->name, nullptr, {}, macro.get(), scope_}));
}

Interpreter::Flow Interpreter::Run(const MacroStatement& statement) {
  SetVariable(statement.macro->name, NewMacro(statement.macro));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::Run(const CallBlock& statement) {
  const auto& call = std::get<CallOf>(statement.call->variant);
  const Value callee = Evaluate(*call.callee);
  Arguments arguments = EvaluateArguments(call.arguments);
  arguments.named.emplace_back("caller", NewMacro(statement.caller));
  Print(TextOf(Call(callee, arguments)));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::Run(const FilterBlock& statement) {
  Print(TextOf(Filtered(Capture(statement.body), statement.filters)));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::Run(const WithBlock& statement) {
  std::vector<Value> values;  // All of them are evaluated outside the block.
  for (const auto& assignment : statement.assignments)
    values.push_back(Evaluate(*assignment.second));
  const InnerScope scope(this, scope_);
  for (size_t i = 0; i < values.size(); ++i)
    Assign(statement.assignments[i].first, std::move(values[i]));
  return Execute(statement.body);
}

Interpreter::Flow Interpreter::Run(const LoopExit& statement) {
  return statement.is_break ? Flow::kBreak : Flow::kContinue;
}

void Interpreter::Assign(const Target& target, Value value) {
  if (!target.parts.empty()) {
    AssignParts(target.parts, value);
  } else if (target.attribute.empty()) {
    SetVariable(target.name, std::move(value));
  } else {
    const Value* variable = FindVariable(target.name);
    Namespace* const* space = variable == nullptr ? nullptr : variable->As<Namespace*>();
    if (space == nullptr)
      throw TemplateError("cannot assign attribute on non-namespace object '" + target.name + "'");
    budget_.Charge(static_cast<int64_t>((*space)->attributes.size()));
    if (Value* attribute = (*space)->Find(target.attribute)) {
      *attribute = std::move(value);
    } else {
      (*space)->attributes.emplace_back(target.attribute, std::move(value));
    }
  }
}

void Interpreter::AssignParts(const std::vector<Target>& parts, const Value& value) {
  budget_.ChargeWalk(value);
  std::vector<Value> items = Iterate(value);
  if (items.size() != parts.size()) {
    throw TemplateError("cannot unpack " + std::to_string(items.size()) + " values into " +
                        std::to_string(parts.size()) + " names");
  }
  for (size_t i = 0; i < parts.size(); ++i) Assign(parts[i], std::move(items[i]));
}

void Interpreter::SetVariable(const std::string& name, Value value) {
  budget_.Charge(static_cast<int64_t>(scope_->variables.size()));
  for (auto& [known, current] : scope_->variables) {
    if (known == name) {
      current = std::move(value);
      return;
    }
  }
  scope_->variables.emplace_back(name, std::move(value));
}

const Value* Interpreter::FindVariable(std::string_view name) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    budget_.Charge(static_cast<int64_t>(scope->variables.size()));
    for (const auto& [known, value] : scope->variables) {
      if (known == name) return &value;
    }
  }
  return nullptr;
}

Value Interpreter::NewNamespace(std::vector<std::pair<std::string, Value>> attributes) {
  budget_.Charge(static_cast<int64_t>(attributes.size()) + 4, kItemWork);
  return Value(Value::Variant(&namespaces_.emplace_back(Namespace{std::move(attributes)})));
}

}  // namespace reenact::local_engine
