#include "local_engine/chat_template/internal/operators.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "local_engine/chat_template/internal/format.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

constexpr const char* kSymbols[] = {"and", "or", "+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void FailTypes(const char* symbol, const Value& left, const Value& right) {
  for (const Value* value : {&left, &right}) {
    if (value->IsUndefined()) FailUndefined(*value);
  }
  throw TemplateError(std::string("unsupported operand types for ") + symbol + ": '" +
                      TypeName(left) + "' and '" + TypeName(right) + "'");
}

[[noreturn]] void FailOverflow() {
  throw TemplateError("an integer is beyond 64 bits", TemplateFault::kUnsupported);
}

int64_t FloorDivide(int64_t left, int64_t right) {
  if (right == 0) throw TemplateError("integer division or modulo by zero");
  if (right == -1) {
    if (left == INT64_MIN) FailOverflow();
    return -left;
  }
  const int64_t quotient = left / right;
  return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

Value IntegerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) throw TemplateError("0.0 cannot be raised to a negative power");
    return Value::Float(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  if (base == 1 || base == 0 || base == -1) {
    return Value::Int(exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? 1 : base);
  }
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) FailOverflow();
  }
  return Value::Int(result);
}

Value CalculateIntegers(BinaryOperator op, int64_t left, int64_t right) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case BinaryOperator::kAdd:
      overflow = __builtin_add_overflow(left, right, &result);
      break;
    case BinaryOperator::kSubtract:
      overflow = __builtin_sub_overflow(left, right, &result);
      break;
    case BinaryOperator::kMultiply:
      overflow = __builtin_mul_overflow(left, right, &result);
      break;
    case BinaryOperator::kFloorDivide:
      result = FloorDivide(left, right);
      break;
    case BinaryOperator::kModulo:
      result = right == -1 ? 0 : left - FloorDivide(left, right) * right;
      break;
    case BinaryOperator::kPower:
      return IntegerPower(left, right);
    default:
      if (right == 0) throw TemplateError("division by zero");
      return Value::Float(static_cast<double>(left) / static_cast<double>(right));
  }
  if (overflow) FailOverflow();
  return Value::Int(result);
}

Value CalculateReals(BinaryOperator op, double left, double right) {
  switch (op) {
    case BinaryOperator::kAdd:
      return Value::Float(left + right);
    case BinaryOperator::kSubtract:
      return Value::Float(left - right);
    case BinaryOperator::kMultiply:
      return Value::Float(left * right);
    case BinaryOperator::kPower: {
      const double result = std::pow(left, right);
      if (!std::isfinite(result) || std::isnan(result))
        throw TemplateError("the power of two floats is no float");
      return Value::Float(result);
    }
    default:
      break;
  }
  if (right == 0) throw TemplateError("float division by zero");
  if (op == BinaryOperator::kDivide) return Value::Float(left / right);
  double remainder = std::fmod(left, right);
  if (remainder != 0 && (remainder < 0) != (right < 0)) remainder += right;
  if (op == BinaryOperator::kModulo) return Value::Float(remainder);
  return Value::Float(std::round((left - remainder) / right));
}

Value Repeat(const Value& value, int64_t times, Budget* budget) {
  if (times < 0) times = 0;
  if (value.IsString()) {
    const std::string& text = value.Utf8();
    budget->Charge(times, static_cast<int64_t>(text.size()) + 1);
    std::string out;
    out.reserve(text.size() * static_cast<size_t>(times));
    for (int64_t i = 0; i < times; ++i) out += text;
    return Value::String(std::move(out));
  }
  const Sequence& sequence = *value.AsSequence();
  budget->Charge(times, kItemWork * static_cast<int64_t>(sequence.items.size()) + 1);
  std::vector<Value> items;
  for (int64_t i = 0; i < times; ++i)
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  return Value::Items(sequence.kind, std::move(items));
}

bool IsListOrTuple(const Value& value) {
  const Sequence* sequence = value.AsSequence();
  return sequence != nullptr && sequence->kind <= SequenceKind::kTuple;
}

Value Append(const Value& left, const Value& right, Budget* budget) {
  const Sequence& first = *left.AsSequence();
  const Sequence& second = *right.AsSequence();
  if (first.kind != second.kind) FailTypes("+", left, right);
  std::vector<Value> items;
  budget->Charge(static_cast<int64_t>(first.items.size() + second.items.size()), kItemWork);
  items.reserve(first.items.size() + second.items.size());
  items.insert(items.end(), first.items.begin(), first.items.end());
  items.insert(items.end(), second.items.begin(), second.items.end());
  return Value::Items(first.kind, std::move(items));
}

bool LessSequences(const Sequence& left, const Sequence& right, Budget* budget) {
  for (size_t i = 0; i < left.items.size() && i < right.items.size(); ++i) {
    if (!EqualWithin(left.items[i], right.items[i], budget))
      return Less(left.items[i], right.items[i], budget);
  }
  return left.items.size() < right.items.size();
}

// A bound of a slice as an index within [low, high].
int64_t SliceBound(const Value& bound, int64_t otherwise, int64_t length, int64_t low,
                   int64_t high) {
  if (bound.IsNone()) return otherwise;
  const std::optional<int64_t> given = AsInteger(bound);
  if (!given) throw TemplateError("slice indices must be integers or None");
  const int64_t index = *given < 0 ? (*given < -length ? low : *given + length) : *given;
  return index < low ? low : index > high ? high : index;
}

}  // namespace

void FailUndefined(const Value& value) {
  const auto& reason = value.As<Undefined>()->reason;
  throw TemplateError(reason == nullptr ? "an undefined value is used" : *reason);
}

std::optional<int64_t> AsInteger(const Value& value) {
  if (const bool* flag = value.As<bool>()) return *flag ? 1 : 0;
  if (const int64_t* whole = value.As<int64_t>()) return *whole;
  return std::nullopt;
}

std::optional<double> AsReal(const Value& value) {
  if (const double* real = value.As<double>()) return *real;
  if (const std::optional<int64_t> whole = AsInteger(value)) return static_cast<double>(*whole);
  return std::nullopt;
}

Value Calculate(BinaryOperator op, const Value& left, const Value& right, Budget* budget) {
  const std::optional<int64_t> left_whole = AsInteger(left), right_whole = AsInteger(right);
  if (left_whole && right_whole) return CalculateIntegers(op, *left_whole, *right_whole);
  const std::optional<double> left_real = AsReal(left), right_real = AsReal(right);
  if (left_real && right_real) return CalculateReals(op, *left_real, *right_real);
  if (op == BinaryOperator::kAdd && left.IsString() && right.IsString()) {
    budget->Charge(static_cast<int64_t>(left.Utf8().size() + right.Utf8().size()));
    return Value::String(left.Utf8() + right.Utf8());
  }
  if (op == BinaryOperator::kAdd && IsListOrTuple(left) && IsListOrTuple(right))
    return Append(left, right, budget);
  if (op == BinaryOperator::kMultiply) {
    if ((left.IsString() || IsListOrTuple(left)) && right_whole)
      return Repeat(left, *right_whole, budget);
    if ((right.IsString() || IsListOrTuple(right)) && left_whole)
      return Repeat(right, *left_whole, budget);
  }
  if (op == BinaryOperator::kModulo && left.IsString() && !right.IsUndefined()) {
    return Value::String(FormatPercent(left.Utf8(), right, budget));
  }
  for (const Value* value : {&left, &right}) {
    if (value->As<BigInteger>() != nullptr) FailOverflow();
  }
  FailTypes(kSymbols[static_cast<size_t>(op)], left, right);
}

Value Negative(const Value& value) {
  if (const std::optional<int64_t> whole = AsInteger(value)) {
    return CalculateIntegers(BinaryOperator::kSubtract, 0, *whole);
  }
  if (const double* real = value.As<double>()) return Value::Float(-*real);
  if (value.IsUndefined()) FailUndefined(value);
  throw TemplateError("bad operand type for unary -: '" + TypeName(value) + "'");
}

bool EqualWithin(const Value& left, const Value& right, Budget* budget) {
  budget->Charge(kStepWork * std::min(left.Weight(), right.Weight()));
  return Equal(left, right);
}

bool Less(const Value& left, const Value& right, Budget* budget) {
  budget->Charge(kStepWork);
  const std::optional<int64_t> left_whole = AsInteger(left), right_whole = AsInteger(right);
  if (left_whole && right_whole) return *left_whole < *right_whole;
  const std::optional<double> left_real = AsReal(left), right_real = AsReal(right);
  if (left_real && right_real) return *left_real < *right_real;
  if (left.IsString() && right.IsString()) {
    budget->Charge(static_cast<int64_t>(std::min(left.Utf8().size(), right.Utf8().size()) / 8));
    return left.Utf8() < right.Utf8();  // UTF-8 sorts as its code points do.
  }
  if (IsListOrTuple(left) && IsListOrTuple(right) &&
      left.AsSequence()->kind == right.AsSequence()->kind) {
    return LessSequences(*left.AsSequence(), *right.AsSequence(), budget);
  }
  FailTypes("<", left, right);
}

bool Compare(CompareOperator op, const Value& left, const Value& right, Budget* budget) {
  switch (op) {
    case CompareOperator::kEqual:
      return EqualWithin(left, right, budget);
    case CompareOperator::kNotEqual:
      return !EqualWithin(left, right, budget);
    case CompareOperator::kLess:
      return Less(left, right, budget);
    case CompareOperator::kGreater:
      return Less(right, left, budget);
    case CompareOperator::kLessEqual:
      return Less(left, right, budget) || EqualWithin(left, right, budget);
    case CompareOperator::kGreaterEqual:
      return Less(right, left, budget) || EqualWithin(left, right, budget);
    case CompareOperator::kIn:
      return Contains(right, left, budget);
    default:
      return !Contains(right, left, budget);
  }
}

bool Contains(const Value& container, const Value& item, Budget* budget) {
  if (container.IsString()) {
    if (!item.IsString()) {
      throw TemplateError("'in <string>' requires string as left operand, not " + TypeName(item));
    }
    const std::string& text = container.Utf8();
    const std::string& wanted = item.Utf8();
    budget->Charge(static_cast<int64_t>(text.size() + wanted.size()));
    // Linear in the worst case, which std::string::find is not.
    return memmem(text.data(), text.size(), wanted.data(), wanted.size()) != nullptr;
  }
  if (const Dict* dict = container.AsDict()) {
    budget->Charge(kItemWork);
    return dict->Find(item) != nullptr;
  }
  if (container.IsNone() || AsReal(container) ||
      container.As<std::shared_ptr<const Callable>>() != nullptr) {
    throw TemplateError("argument of type '" + TypeName(container) + "' is not iterable");
  }
  for (const Value& candidate : Iterate(container)) {
    budget->Charge(kItemWork);
    if (EqualWithin(candidate, item, budget)) return true;
  }
  return false;
}

int64_t Length(const Value& value) {
  if (value.IsUndefined()) return 0;
  if (value.IsString()) return static_cast<int64_t>(CodePointCount(value.Utf8()));
  if (const Dict* dict = value.AsDict()) return static_cast<int64_t>(dict->entries().size());
  const Sequence* sequence = value.AsSequence();
  if (const auto* loop = value.As<std::shared_ptr<Loop>>()) sequence = (*loop)->items.get();
  if (sequence == nullptr || sequence->kind == SequenceKind::kGenerator) {
    throw TemplateError("object of type '" + TypeName(value) + "' has no len()");
  }
  return static_cast<int64_t>(sequence->items.size());
}

std::optional<Value> Element(const Value& object, int64_t index) {
  if (object.IsString()) {
    const std::string& text = object.Utf8();
    if (index < 0) index += Length(object);
    if (index < 0) return std::nullopt;
    const size_t start = ByteOffset(text, static_cast<size_t>(index));
    if (start == text.size()) return std::nullopt;
    size_t end = start;
    NextCodePoint(text, &end);
    return Value::String(text.substr(start, end - start));
  }
  const Sequence* sequence = object.AsSequence();
  if (sequence == nullptr || sequence->kind > SequenceKind::kRange) return std::nullopt;
  const auto size = static_cast<int64_t>(sequence->items.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return sequence->items[static_cast<size_t>(index)];
}

Value Slice(const Value& object, const Value& start, const Value& stop, const Value& step,
            Budget* budget) {
  std::vector<Value> characters;
  if (object.IsString()) {
    budget->Charge(static_cast<int64_t>(object.Utf8().size()), 2);
    if (start.IsNone() && stop.IsNone() && step.IsNone()) return object;
  }
  // Of a string the byte offsets of its characters, and its end.
  std::vector<size_t> offsets;
  if (object.IsString()) {
    const std::string& text = object.Utf8();
    for (size_t at = 0; at < text.size(); NextCodePoint(text, &at)) offsets.push_back(at);
  }
  const auto length =
      static_cast<int64_t>(object.IsString() ? offsets.size() : object.AsSequence()->items.size());
  const int64_t stride = step.IsNone() ? 1 : AsInteger(step).value_or(0);
  if (stride == 0 || stride == INT64_MIN)
    throw TemplateError("slice step must be an integer other than 0");
  const bool forward = stride > 0;
  const int64_t low = forward ? 0 : -1, high = forward ? length : length - 1;
  const int64_t first = SliceBound(start, forward ? low : high, length, low, high);
  const int64_t end = SliceBound(stop, forward ? high : low, length, low, high);
  std::string text;
  std::vector<Value> items;
  offsets.push_back(object.IsString() ? object.Utf8().size() : 0);
  for (int64_t i = first; forward ? i < end : i > end;) {
    if (object.IsString()) {
      text.append(object.Utf8(), offsets[static_cast<size_t>(i)],
                  offsets[static_cast<size_t>(i) + 1] - offsets[static_cast<size_t>(i)]);
    } else {
      budget->Charge(kItemWork);
      items.push_back(object.AsSequence()->items[static_cast<size_t>(i)]);
    }
    if (__builtin_add_overflow(i, stride, &i)) break;
  }
  if (object.IsString()) return Value::String(std::move(text));
  return Value::Items(object.AsSequence()->kind, std::move(items));
}

}  // namespace reenact::local_engine
