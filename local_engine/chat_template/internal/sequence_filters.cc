// Filters that take or give sequences; those that choose among items are in selection_filters.cc.

#include <algorithm>
#include <string>

#include "local_engine/chat_template/internal/builtins.h"
#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/sequence_keys.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

using Arg = const Arguments&;

Value LengthFilter(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  if (value.IsString()) interpreter.budget()->Charge(static_cast<int64_t>(value.Utf8().size()));
  return Value::Int(Length(value));
}

Value Default(Interpreter&, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"default_value", "boolean"});
  const bool replaces = value.IsUndefined() || (bound.Flag(1, false) && !IsTrue(value));
  if (!replaces) return value;
  return bound.Get(0) == nullptr ? Value::String("") : *bound.Get(0);
}

Value First(Interpreter&, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  if (value.IsString() ||
      (value.AsSequence() != nullptr && value.AsSequence()->kind <= SequenceKind::kRange)) {
    return Element(value, 0).value_or(Value::MakeUndefined("No first item, sequence was empty."));
  }
  const Sequence* sequence = value.AsSequence();
  if (sequence != nullptr && sequence->kind == SequenceKind::kGenerator &&
      sequence->taken < sequence->items.size()) {
    return sequence->items[sequence->taken++];
  }
  const std::vector<Value> items = Iterate(value);
  return items.empty() ? Value::MakeUndefined("No first item, sequence was empty.") : items.front();
}

Value Last(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  const Sequence* sequence = value.AsSequence();
  if (value.IsUndefined()) FailUndefined(value);
  if (sequence != nullptr && sequence->kind == SequenceKind::kGenerator) {
    throw TemplateError("'generator' object is not reversible");
  }
  interpreter.budget()->ChargeWalk(value);
  const std::vector<Value> items = Iterate(value);
  return items.empty() ? Value::MakeUndefined("No last item, sequence was empty.") : items.back();
}

Value ListFilter(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  return Value::List(TakeItems(interpreter, value));
}

Value Join(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"d", "attribute"});
  const std::string separator = bound.Get(0) == nullptr ? "" : interpreter.TextOf(*bound.Get(0));
  const ItemKey key(interpreter, bound.Absent(1) ? nullptr : bound.Get(1));
  std::string text;
  bool first = true;
  for (const Value& item : TakeItems(interpreter, value)) {
    if (!first) text += separator;
    first = false;
    text += interpreter.TextOf(key.Of(item));
    interpreter.budget()->Charge(static_cast<int64_t>(separator.size()));
  }
  interpreter.budget()->Charge(static_cast<int64_t>(text.size()));
  return Value::String(std::move(text));
}

Value Reverse(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  if (value.IsString()) {
    return Slice(value, Value::MakeNone(), Value::MakeNone(), Value::Int(-1), interpreter.budget());
  }
  std::vector<Value> items = TakeItems(interpreter, value);
  std::reverse(items.begin(), items.end());
  return Value::Items(SequenceKind::kGenerator, std::move(items));
}

Value Items(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  if (value.IsUndefined()) return Value::Items(SequenceKind::kGenerator, {});
  const Dict* dict = value.AsDict();
  if (dict == nullptr)
    throw TemplateError("can only get item pairs from a mapping, not " + TypeName(value));
  interpreter.budget()->Charge(static_cast<int64_t>(dict->entries().size()), 2 * kItemWork);
  std::vector<Value> pairs;
  for (const auto& [key, item] : dict->entries()) pairs.push_back(Value::Tuple({key, item}));
  return Value::Items(SequenceKind::kGenerator, std::move(pairs));
}

Value Sort(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"reverse", "case_sensitive", "attribute"});
  const ItemKeys keys(interpreter, bound.Absent(2) ? nullptr : bound.Get(2), !bound.Flag(1, false));
  return Value::List(
      Sorted(interpreter, TakeItems(interpreter, value), keys, bound.Flag(0, false)));
}

Value DictSort(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"case_sensitive", "by", "reverse"});
  const Dict* dict = value.AsDict();
  if (dict == nullptr) throw TemplateError("dictsort needs a mapping, not " + TypeName(value));
  const std::string by = bound.String(1, "key");
  if (by != "key" && by != "value")
    throw TemplateError("You can only sort by either \"key\" or \"value\"");
  interpreter.budget()->Charge(static_cast<int64_t>(dict->entries().size()), 2 * kItemWork);
  std::vector<Value> pairs;
  for (const auto& [key, item] : dict->entries()) pairs.push_back(Value::Tuple({key, item}));
  const Value position = Value::Int(by == "key" ? 0 : 1);
  const ItemKeys keys(interpreter, &position, !bound.Flag(0, false));
  return Value::List(Sorted(interpreter, std::move(pairs), keys, bound.Flag(2, false)));
}

template <bool kMax>
Value Extreme(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"case_sensitive", "attribute"});
  const ItemKeys keys(interpreter, bound.Absent(1) ? nullptr : bound.Get(1), !bound.Flag(0, false));
  const std::vector<Value> items = TakeItems(interpreter, value);
  if (items.empty()) return Value::MakeUndefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key = keys.Of(items[0]);
  for (size_t i = 1; i < items.size(); ++i) {
    Value key = keys.Of(items[i]);
    if (kMax ? !Less(best_key, key, interpreter.budget())
             : !Less(key, best_key, interpreter.budget()))
      continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Value Sum(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"attribute", "start"});
  const ItemKey key(interpreter, bound.Absent(0) ? nullptr : bound.Get(0));
  Value sum = bound.Get(1) == nullptr ? Value::Int(0) : *bound.Get(1);
  if (sum.IsString()) throw TemplateError("sum() can't sum strings");
  for (const Value& item : TakeItems(interpreter, value)) {
    sum = Calculate(BinaryOperator::kAdd, sum, key.Of(item), interpreter.budget());
  }
  return sum;
}

Value Unique(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"case_sensitive", "attribute"});
  const ItemKey key(interpreter, bound.Absent(1) ? nullptr : bound.Get(1), !bound.Flag(0, false));
  std::vector<Value> seen, items;
  for (const Value& item : TakeItems(interpreter, value)) {
    Value item_key = key.Of(item);
    if (item_key.AsDict() != nullptr) throw TemplateError("unhashable type: 'dict'");
    const bool known = std::any_of(seen.begin(), seen.end(), [&](const Value& other) {
      return EqualWithin(other, item_key, interpreter.budget());
    });
    if (known) continue;
    seen.push_back(std::move(item_key));
    items.push_back(item);
  }
  return Value::Items(SequenceKind::kGenerator, std::move(items));
}

Value AttributeFilter(Interpreter& interpreter, const Value& value, Arg arguments) {
  const std::string name = BoundArguments(arguments, {"name"}).String(0, "");
  if (value.AsDict() != nullptr && FindMethod(value, name) == nullptr) {
    return Value::MakeUndefined("'dict object' has no attribute '" + name + "'");  // Never an item.
  }
  return interpreter.Attribute(value, name);
}

}  // namespace

std::span<const NamedFunction> SequenceFilters() {
  static constexpr NamedFunction kFilters[] = {
      {"attr", AttributeFilter},
      {"count", LengthFilter},
      {"d", Default},
      {"default", Default},
      {"dictsort", DictSort},
      {"first", First},
      {"items", Items},
      {"join", Join},
      {"last", Last},
      {"length", LengthFilter},
      {"list", ListFilter},
      {"max", Extreme<true>},
      {"min", Extreme<false>},
      {"reverse", Reverse},
      {"sort", Sort},
      {"sum", Sum},
      {"unique", Unique},
  };
  return kFilters;
}

}  // namespace reenact::local_engine
