// Expressions. Statements are in interpreter.cc.

#include <algorithm>

#include "local_engine/chat_template/internal/builtins.h"
#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/interpreter_scopes.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/python_text.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

Value NoSuchItem(const Value& object, const Value& key) {
  if (object.IsUndefined()) FailUndefined(object);
  if (key.IsString())
    return Value::MakeUndefined("'" + TypeName(object) + " object' has no attribute '" +
                                key.Utf8().substr(0, ByteOffset(key.Utf8(), 80)) + "'");
  if (key.As<int64_t>() == nullptr)
    return Value::MakeUndefined(TypeName(object) + " object has no such element");
  return Value::MakeUndefined(TypeName(object) + " object has no element " + Repr(key));
}

// What jinja2 gives for a name that the object has no attribute of that the template may use.
std::optional<Value> NativeAttribute(const Value& object, const std::string& name) {
  if (const NativeFunction method = FindMethod(object, name)) {
    return Value(
        std::make_shared<const Callable>(Callable{name, method, object, nullptr, nullptr}));
  }
  if (IsForbiddenMethod(object, name)) {
    return Value::MakeUndefined("access to attribute '" + name + "' of '" + TypeName(object) +
                                "' object is unsafe.");
  }
  return std::nullopt;
}

}  // namespace

std::string Interpreter::TextOf(const Value& value) {
  budget_.ChargeWalk(value);
  return ToText(value);
}

Value Interpreter::Evaluate(const Expression& expression) {
  const Depth depth(this);
  budget_.Charge(kStepWork);
  place_.line = expression.line;
  return std::visit([this](const auto& kind) { return Evaluate(kind); }, expression.variant);
}

Value Interpreter::Evaluate(const NameReference& e) {
  const Value* value = FindVariable(e.name);
  return value != nullptr ? *value : Value::MakeUndefined("'" + e.name + "' is undefined");
}

Value Interpreter::Evaluate(const SequenceDisplay& e) {
  std::vector<Value> items;
  for (const ExpressionPtr& item : e.items) items.push_back(Evaluate(*item));
  return Value::Items(e.kind, std::move(items));
}

Value Interpreter::Evaluate(const DictDisplay& e) {
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key, value] : e.entries) {
    Value evaluated_key = Evaluate(*key);
    entries.emplace_back(std::move(evaluated_key), Evaluate(*value));
  }
  return Value::Mapping(std::move(entries));
}

Value Interpreter::Evaluate(const Unary& e) {
  const Value value = Evaluate(*e.operand);
  switch (e.op) {
    case UnaryOperator::kNot:
      return Value::Bool(!IsTrue(value));
    case UnaryOperator::kNegative:
      return Negative(value);
    default:
      return Negative(Negative(value));
  }
}

Value Interpreter::Evaluate(const Binary& e) {
  Value left = Evaluate(*e.left);
  if (e.op == BinaryOperator::kAnd) return IsTrue(left) ? Evaluate(*e.right) : left;
  if (e.op == BinaryOperator::kOr) return IsTrue(left) ? left : Evaluate(*e.right);
  return Calculate(e.op, left, Evaluate(*e.right), &budget_);
}

Value Interpreter::Evaluate(const Concatenation& e) {
  std::string text;
  for (const ExpressionPtr& part : e.parts) text += TextOf(Evaluate(*part));
  budget_.Charge(static_cast<int64_t>(text.size()));
  return Value::String(std::move(text));
}

Value Interpreter::Evaluate(const Comparison& e) {
  Value left = Evaluate(*e.first);
  for (const auto& [op, expression] : e.rest) {
    Value right = Evaluate(*expression);
    if (!Compare(op, left, right, &budget_)) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

Value Interpreter::Evaluate(const Conditional& e) {
  if (IsTrue(Evaluate(*e.condition))) return Evaluate(*e.then);
  if (e.otherwise != nullptr) return Evaluate(*e.otherwise);
  return Value::MakeUndefined(
      "the inline if-expression evaluated to false and no else section was defined");
}

Value Interpreter::Evaluate(const AttributeOf& e) {
  return Attribute(Evaluate(*e.object), e.name);
}

Value Interpreter::Evaluate(const Subscript& e) {
  const Value object = Evaluate(*e.object);
  return Item(object, Evaluate(*e.index));
}

Value Interpreter::Evaluate(const SliceOf& e) {
  const Value object = Evaluate(*e.object);
  const auto bound = [this](const ExpressionPtr& expression) {
    return expression == nullptr ? Value::MakeNone() : Evaluate(*expression);
  };
  const Value start = bound(e.start), stop = bound(e.stop), step = bound(e.step);
  if (object.IsUndefined()) FailUndefined(object);
  const Sequence* sequence = object.AsSequence();
  if (!object.IsString() && (sequence == nullptr || sequence->kind > SequenceKind::kRange)) {
    throw TemplateError("'" + TypeName(object) + "' object cannot be sliced");
  }
  return Slice(object, start, stop, step, &budget_);
}

Arguments Interpreter::EvaluateArguments(const CallArguments& arguments) {
  Arguments evaluated;
  for (const ExpressionPtr& argument : arguments.positional)
    evaluated.positional.push_back(Evaluate(*argument));
  for (const auto& [name, argument] : arguments.named)
    evaluated.named.emplace_back(name, Evaluate(*argument));
  if (arguments.unpacked_positional != nullptr) {
    const Value list = Evaluate(*arguments.unpacked_positional);
    budget_.ChargeWalk(list);
    for (Value& item : Iterate(list)) evaluated.positional.push_back(std::move(item));
  }
  if (arguments.unpacked_named != nullptr) {
    const Value mapping = Evaluate(*arguments.unpacked_named);
    budget_.ChargeWalk(mapping);
    const Dict* dict = mapping.AsDict();
    if (dict == nullptr)
      throw TemplateError("the argument after ** must be a mapping, not " + TypeName(mapping));
    for (const auto& [key, value] : dict->entries()) {
      if (!key.IsString()) throw TemplateError("keywords must be strings");
      evaluated.named.emplace_back(key.Utf8(), value);
    }
  }
  return evaluated;
}

Value Interpreter::Evaluate(const CallOf& e) {
  const int line = place_.line;
  const Value callee = Evaluate(*e.callee);
  const Arguments arguments = EvaluateArguments(e.arguments);
  place_.line = line;
  return Call(callee, arguments);
}

Value Interpreter::Call(const Value& callee, const Arguments& arguments) {
  if (callee.IsUndefined()) FailUndefined(callee);
  const auto* callable = callee.As<std::shared_ptr<const Callable>>();
  if (callable == nullptr) throw TemplateError("'" + TypeName(callee) + "' object is not callable");
  const std::shared_ptr<const Callable> kept =
      *callable;  // Whatever becomes of the variable that held it.
  if (kept->macro != nullptr) return CallMacro(*kept, arguments);
  const Place place = place_;
  place_ = {place.line, "call of", nullptr, kept};
  Value result = kept->function(*this, kept->receiver, arguments);
  place_ = place;
  return result;
}

Value Interpreter::CallMacro(const Callable& callable, const Arguments& arguments) {
  const MacroDefinition& macro = *callable.macro;
  const Place place = place_;
  const Depth depth(this);
  const InnerScope scope(this, callable.scope);
  budget_.Charge(static_cast<int64_t>(arguments.named.size()),
                 static_cast<int64_t>(macro.parameters.size()));
  if (arguments.positional.size() > macro.parameters.size()) {
    throw TemplateError("macro '" + macro.name + "' takes not more than " +
                        std::to_string(macro.parameters.size()) + " argument(s)");
  }
  for (const auto& [name, value] : arguments.named) {
    const auto known =
        std::find_if(macro.parameters.begin(), macro.parameters.end(),
                     [&name = name](const auto& parameter) { return parameter.first == name; });
    if (known == macro.parameters.end() && name != "caller") {
      throw TemplateError("macro '" + macro.name + "' takes no keyword argument '" + name + "'");
    }
    SetVariable(name, value);
  }
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const auto& [name, otherwise] = macro.parameters[i];
    const auto is_given = [&name = name](const auto& variable) { return variable.first == name; };
    const bool given = std::any_of(arguments.named.begin(), arguments.named.end(), is_given);
    if (i < arguments.positional.size()) {
      if (given)
        throw TemplateError("macro '" + macro.name + "' got two values for '" + name + "'");
      SetVariable(name, arguments.positional[i]);
    } else if (!given) {
      SetVariable(name, otherwise != nullptr
                            ? Evaluate(*otherwise)
                            : Value::MakeUndefined("parameter '" + name + "' was not provided"));
    }
  }
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  Execute(macro.body);
  out_ = outer;
  place_ = place;
  return Value::String(std::move(text));
}

Value Interpreter::Evaluate(const FilterCall& e) {
  const Place place = place_;
  const Value operand = Evaluate(*e.operand);
  const Arguments arguments = EvaluateArguments(e.arguments);
  place_ = {place.line, "filter", &e.name};
  Value result = ApplyFilter(e.name, operand, arguments);
  place_ = place;
  return result;
}

Value Interpreter::Evaluate(const TestCall& e) {
  const Place place = place_;
  const Value operand = Evaluate(*e.operand);
  const Arguments arguments = EvaluateArguments(e.arguments);
  place_ = {place.line, "test", &e.name};
  const bool holds = ApplyTest(e.name, operand, arguments);
  place_ = place;
  return Value::Bool(holds != e.negated);
}

Value Interpreter::ApplyFilter(const std::string& name, const Value& operand,
                               const Arguments& arguments) {
  const NativeFunction filter = FindFilter(name);
  if (filter == nullptr)
    throw TemplateError("no filter named '" + name + "'", TemplateFault::kUnsupported);
  return filter(*this, operand, arguments);
}

bool Interpreter::ApplyTest(const std::string& name, const Value& operand,
                            const Arguments& arguments) {
  const NativeFunction test = FindTest(name);
  if (test == nullptr)
    throw TemplateError("no test named '" + name + "'", TemplateFault::kUnsupported);
  return IsTrue(test(*this, operand, arguments));
}

Value Interpreter::LoopAttribute(const std::shared_ptr<Loop>& loop, const std::string& name) {
  const std::vector<Value>& items = loop->items->items;
  const auto index = static_cast<int64_t>(loop->index), length = static_cast<int64_t>(items.size());
  if (name == "index") return Value::Int(index + 1);
  if (name == "index0") return Value::Int(index);
  if (name == "first") return Value::Bool(index == 0);
  if (name == "last") return Value::Bool(index + 1 >= length);
  if (name == "length") return Value::Int(length);
  if (name == "revindex") return Value::Int(length - index);
  if (name == "revindex0") return Value::Int(length - index - 1);
  if (name == "depth") return Value::Int(1);
  if (name == "depth0") return Value::Int(0);
  if (name == "previtem")
    return index > 0 ? items[index - 1] : Value::MakeUndefined("there is no previous item");
  if (name == "nextitem")
    return index + 1 < length ? items[index + 1] : Value::MakeUndefined("there is no next item");
  if (name == "cycle") {
    const NativeFunction cycle = [](Interpreter&, const Value& receiver,
                                    const Arguments& arguments) {
      if (arguments.positional.empty()) throw TemplateError("no items for cycling given");
      const size_t at = (*receiver.As<std::shared_ptr<Loop>>())->index;
      return arguments.positional[at % arguments.positional.size()];
    };
    return Value(
        std::make_shared<const Callable>(Callable{name, cycle, Value(loop), nullptr, nullptr}));
  }
  if (name == "changed")
    throw TemplateError("loop.changed is not supported", TemplateFault::kUnsupported);
  return Value::MakeUndefined("'LoopContext object' has no attribute '" + name + "'");
}

Value Interpreter::Attribute(const Value& object, const std::string& name) {
  if (const auto* loop = object.As<std::shared_ptr<Loop>>()) return LoopAttribute(*loop, name);
  if (Namespace* const* space = object.As<Namespace*>()) {
    budget_.Charge(static_cast<int64_t>((*space)->attributes.size()));
    if (const Value* value = (*space)->Find(name)) return *value;
  }
  if (std::optional<Value> attribute = NativeAttribute(object, name)) return *attribute;
  if (const Dict* dict = object.AsDict()) {
    if (const Value* value = dict->Find(name)) return *value;
  }
  return NoSuchItem(object, Value::String(name));
}

Value Interpreter::Item(const Value& object, const Value& key) {
  if (const Dict* dict = object.AsDict()) {
    if (const Value* value = dict->Find(key)) return *value;
  } else if (const std::optional<int64_t> index = AsInteger(key)) {
    if (object.IsString()) budget_.Charge(static_cast<int64_t>(object.Utf8().size()));
    if (std::optional<Value> element = Element(object, *index)) return *element;
  }
  return key.IsString() ? Attribute(object, key.Utf8()) : NoSuchItem(object, key);
}

}  // namespace reenact::local_engine
