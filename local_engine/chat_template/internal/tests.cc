// The tests after `is`.

#include <string>
#include <unordered_map>

#include "local_engine/chat_template/internal/builtins.h"
#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

using Arg = const Arguments&;

// A test without arguments.
template <bool (*kHolds)(const Value&)>
Value Plain(Interpreter&, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  return Value::Bool(kHolds(value));
}

template <CompareOperator kOperator>
Value Comparing(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"other"});
  return Value::Bool(Compare(kOperator, value, bound.Required(0), interpreter.budget()));
}

bool IsInteger(const Value& value) {
  return value.As<int64_t>() != nullptr || value.As<BigInteger>() != nullptr;
}

bool IsBoolean(const Value& value) {
  return value.As<bool>() != nullptr;
}

bool IsNumber(const Value& value) {
  return AsReal(value).has_value() || IsInteger(value);
}

bool IsIterable(const Value& value) {
  return value.IsUndefined() || value.IsString() || value.AsSequence() != nullptr ||
         value.AsDict() != nullptr || value.As<std::shared_ptr<Loop>>() != nullptr;
}

bool IsSequence(const Value& value) {
  const Sequence* sequence = value.AsSequence();
  return value.IsUndefined() || value.IsString() || value.AsDict() != nullptr ||
         (sequence != nullptr && sequence->kind <= SequenceKind::kRange);
}

bool IsCallable(const Value& value) {
  return value.As<std::shared_ptr<const Callable>>() != nullptr || value.IsUndefined() ||
         value.As<std::shared_ptr<Loop>>() != nullptr;
}

// Some letter has the case, and none the other.
bool HasCase(Interpreter& interpreter, const Value& value, bool (*wanted)(char32_t),
             bool (*other)(char32_t)) {
  const std::string text = interpreter.TextOf(value);
  bool found = false;
  for (size_t position = 0; position < text.size();) {
    const char32_t c = NextCodePoint(text, &position);
    if (other(c)) return false;
    found = found || wanted(c);
  }
  return found;
}

Value LowerTest(Interpreter& interpreter, const Value& value, Arg) {
  return Value::Bool(HasCase(interpreter, value, IsLower, IsUpper));
}

Value UpperTest(Interpreter& interpreter, const Value& value, Arg) {
  return Value::Bool(HasCase(interpreter, value, IsUpper, IsLower));
}

bool IsRemainder(Interpreter& interpreter, const Value& value, const Value& divisor,
                 int64_t remainder) {
  const Value rest = Calculate(BinaryOperator::kModulo, value, divisor, interpreter.budget());
  return Equal(rest, Value::Int(remainder));
}

Value EvenTest(Interpreter& interpreter, const Value& value, Arg) {
  return Value::Bool(IsRemainder(interpreter, value, Value::Int(2), 0));
}

Value OddTest(Interpreter& interpreter, const Value& value, Arg) {
  return Value::Bool(IsRemainder(interpreter, value, Value::Int(2), 1));
}

Value DivisibleByTest(Interpreter& interpreter, const Value& value, Arg arguments) {
  return Value::Bool(
      IsRemainder(interpreter, value, BoundArguments(arguments, {"num"}).Required(0), 0));
}

Value SameAsTest(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"other"});
  const Value& other = bound.Required(0);
  return Value::Bool(value.variant().index() == other.variant().index() &&
                     EqualWithin(value, other, interpreter.budget()));
}

Value FilterTest(Interpreter&, const Value& value, Arg) {
  return Value::Bool(value.IsString() && FindFilter(value.Utf8()) != nullptr);
}

Value TestTest(Interpreter&, const Value& value, Arg) {
  return Value::Bool(value.IsString() && FindTest(value.Utf8()) != nullptr);
}

bool IsUndefined(const Value& value) {
  return value.IsUndefined();
}

bool IsDefined(const Value& value) {
  return !value.IsUndefined();
}

bool IsNone(const Value& value) {
  return value.IsNone();
}

bool IsTrueItself(const Value& value) {
  return IsBoolean(value) && IsTrue(value);
}

bool IsFalseItself(const Value& value) {
  return IsBoolean(value) && !IsTrue(value);
}

bool IsString(const Value& value) {
  return value.IsString();
}

bool IsMapping(const Value& value) {
  return value.AsDict() != nullptr;
}

bool IsFloat(const Value& value) {
  return value.As<double>() != nullptr;
}

bool IsEscaped(const Value&) {
  return false;
}

}  // namespace

NativeFunction FindTest(std::string_view name) {
  using Op = CompareOperator;
  static const std::unordered_map<std::string_view, NativeFunction> kTests = {
      {"defined", Plain<IsDefined>},
      {"undefined", Plain<IsUndefined>},
      {"none", Plain<IsNone>},
      {"true", Plain<IsTrueItself>},
      {"false", Plain<IsFalseItself>},
      {"boolean", Plain<IsBoolean>},
      {"integer", Plain<IsInteger>},
      {"float", Plain<IsFloat>},
      {"number", Plain<IsNumber>},
      {"string", Plain<IsString>},
      {"mapping", Plain<IsMapping>},
      {"iterable", Plain<IsIterable>},
      {"sequence", Plain<IsSequence>},
      {"callable", Plain<IsCallable>},
      {"escaped", Plain<IsEscaped>},
      {"lower", LowerTest},
      {"upper", UpperTest},
      {"even", EvenTest},
      {"odd", OddTest},
      {"divisibleby", DivisibleByTest},
      {"sameas", SameAsTest},
      {"filter", FilterTest},
      {"test", TestTest},
      {"in", Comparing<Op::kIn>},
      {"eq", Comparing<Op::kEqual>},
      {"equalto", Comparing<Op::kEqual>},
      {"==", Comparing<Op::kEqual>},
      {"ne", Comparing<Op::kNotEqual>},
      {"!=", Comparing<Op::kNotEqual>},
      {"lt", Comparing<Op::kLess>},
      {"lessthan", Comparing<Op::kLess>},
      {"<", Comparing<Op::kLess>},
      {"le", Comparing<Op::kLessEqual>},
      {"<=", Comparing<Op::kLessEqual>},
      {"gt", Comparing<Op::kGreater>},
      {"greaterthan", Comparing<Op::kGreater>},
      {">", Comparing<Op::kGreater>},
      {"ge", Comparing<Op::kGreaterEqual>},
      {">=", Comparing<Op::kGreaterEqual>},
  };
  const auto found = kTests.find(name);
  return found == kTests.end() ? nullptr : found->second;
}

}  // namespace reenact::local_engine
