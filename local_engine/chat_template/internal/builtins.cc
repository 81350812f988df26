#include "local_engine/chat_template/internal/builtins.h"

#include <locale.h>

#include <algorithm>
#include <ctime>
#include <initializer_list>
#include <string>
#include <unordered_map>

#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/template_error.h"

namespace reenact::local_engine {
namespace {

using Table = std::unordered_map<std::string_view, NativeFunction>;

Table MakeTable(std::initializer_list<std::span<const NamedFunction>> lists) {
  Table table;
  for (const auto& list : lists) {
    for (const NamedFunction& function : list) table.emplace(function.name, function.function);
  }
  return table;
}

NativeFunction Find(const Table& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

Value RaiseException(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  const BoundArguments bound(arguments, {"message"});
  throw TemplateError(interpreter.TextOf(bound.Required(0)), TemplateFault::kRefused);
}

Value StrftimeNow(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  const std::string format = BoundArguments(arguments, {"format"}).String(0, "");
  if (!interpreter.now()) throw TemplateError("the template asks for the time, and none was given");
  const absl::CivilSecond& now = *interpreter.now();
  std::tm fields{};
  fields.tm_year = static_cast<int>(now.year() - 1900);
  fields.tm_mon = now.month() - 1;
  fields.tm_mday = now.day();
  fields.tm_hour = now.hour();
  fields.tm_min = now.minute();
  fields.tm_sec = now.second();
  fields.tm_wday =
      (static_cast<int>(absl::GetWeekday(now)) + 1) % 7;  // absl's week begins on Monday.
  fields.tm_yday = absl::GetYearDay(now) - 1;
  static const locale_t kEnglish = newlocale(LC_ALL_MASK, "C", nullptr);
  interpreter.budget()->Charge(static_cast<int64_t>(format.size()) + 1, 64);
  std::string text(64 * (format.size() + 1), '\0');
  // The mark tells an empty result from one that does not fit.
  const size_t size =
      strftime_l(text.data(), text.size(), (format + "|").c_str(), &fields, kEnglish);
  if (size == 0)
    throw TemplateError("the format of the time is not supported", TemplateFault::kUnsupported);
  return Value::String(text.substr(0, size - 1));
}

Value Range(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  const BoundArguments bound(arguments, {"start", "stop", "step"});
  bound.Required(0);
  const bool one = bound.Get(1) == nullptr;
  const int64_t start = one ? 0 : bound.Integer(0, 0),
                stop = one ? bound.Integer(0, 0) : bound.Integer(1, 0);
  const int64_t step = bound.Integer(2, 1);
  if (step == 0) throw TemplateError("step must not be zero");
  constexpr size_t kMaxRange = 100'000;  // As in jinja2's sandbox.
  std::vector<Value> items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (items.size() == kMaxRange) {
      throw TemplateError("a range of more than " + std::to_string(kMaxRange) + " numbers",
                          TemplateFault::kLimit);
    }
    interpreter.budget()->Charge(kItemWork);
    items.push_back(Value::Int(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value::Items(SequenceKind::kRange, std::move(items));
}

// The entries of dict(mapping_or_pairs, name=value, ...).
std::vector<std::pair<Value, Value>> DictEntries(Interpreter& interpreter,
                                                 const Arguments& arguments) {
  if (arguments.positional.size() > 1) throw TemplateError("takes at most 1 positional argument");
  std::vector<std::pair<Value, Value>> entries;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    interpreter.budget()->ChargeWalk(source);
    if (const Dict* dict = source.AsDict()) {
      entries = dict->entries();
    } else {
      for (const Value& pair : Iterate(source)) {
        std::vector<Value> parts = Iterate(pair);
        if (parts.size() != 2) throw TemplateError("a dict is made of pairs");
        entries.emplace_back(std::move(parts[0]), std::move(parts[1]));
      }
    }
  }
  for (const auto& [name, value] : arguments.named)
    entries.emplace_back(Value::String(name), value);
  return entries;
}

Value MakeDict(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  return Value::Mapping(DictEntries(interpreter, arguments));
}

Value MakeNamespace(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  const Value dict = Value::Mapping(DictEntries(interpreter, arguments));
  std::vector<std::pair<std::string, Value>> attributes;
  for (const auto& [key, value] : dict.AsDict()->entries()) {
    if (!key.IsString()) throw TemplateError("the attributes of a namespace are named by strings");
    attributes.emplace_back(key.Utf8(), value);
  }
  return interpreter.NewNamespace(std::move(attributes));
}

Value DictView(Interpreter& interpreter, const Value& dict, const Arguments& arguments,
               SequenceKind kind) {
  const BoundArguments bound(arguments, {});
  std::vector<Value> items;
  interpreter.budget()->Charge(static_cast<int64_t>(dict.AsDict()->entries().size()),
                               2 * kItemWork);
  for (const auto& [key, value] : dict.AsDict()->entries()) {
    items.push_back(kind == SequenceKind::kKeysView     ? key
                    : kind == SequenceKind::kValuesView ? value
                                                        : Value::Tuple({key, value}));
  }
  return Value::Items(kind, std::move(items));
}

Value DictKeys(Interpreter& interpreter, const Value& dict, const Arguments& arguments) {
  return DictView(interpreter, dict, arguments, SequenceKind::kKeysView);
}

Value DictValues(Interpreter& interpreter, const Value& dict, const Arguments& arguments) {
  return DictView(interpreter, dict, arguments, SequenceKind::kValuesView);
}

Value DictItems(Interpreter& interpreter, const Value& dict, const Arguments& arguments) {
  return DictView(interpreter, dict, arguments, SequenceKind::kItemsView);
}

Value DictGet(Interpreter&, const Value& dict, const Arguments& arguments) {
  const BoundArguments bound(arguments, {"key", "default"});
  if (const Value* value = dict.AsDict()->Find(bound.Required(0))) return *value;
  return bound.Get(1) == nullptr ? Value::MakeNone() : *bound.Get(1);
}

Value Copy(Interpreter&, const Value& value, const Arguments& arguments) {
  const BoundArguments bound(arguments, {});
  return value;
}

Value SequenceIndex(Interpreter& interpreter, const Value& sequence, const Arguments& arguments) {
  const BoundArguments bound(arguments, {"value"});
  const std::vector<Value>& items = sequence.AsSequence()->items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (EqualWithin(items[i], bound.Required(0), interpreter.budget()))
      return Value::Int(static_cast<int64_t>(i));
  }
  throw TemplateError("the value is not in the " + TypeName(sequence));
}

Value SequenceCount(Interpreter& interpreter, const Value& sequence, const Arguments& arguments) {
  const BoundArguments bound(arguments, {"value"});
  int64_t count = 0;
  for (const Value& item : sequence.AsSequence()->items) {
    if (EqualWithin(item, bound.Required(0), interpreter.budget())) ++count;
  }
  return Value::Int(count);
}

constexpr NamedFunction kGlobals[] = {{"raise_exception", RaiseException},
                                      {"strftime_now", StrftimeNow},
                                      {"range", Range},
                                      {"dict", MakeDict},
                                      {"namespace", MakeNamespace}};

constexpr NamedFunction kDictMethods[] = {{"keys", DictKeys},
                                          {"values", DictValues},
                                          {"items", DictItems},
                                          {"get", DictGet},
                                          {"copy", Copy}};

constexpr NamedFunction kSequenceMethods[] = {{"index", SequenceIndex}, {"count", SequenceCount}};

}  // namespace

NativeFunction FindFilter(std::string_view name) {
  static const Table kTable =
      MakeTable({TextFilters(), NumberFilters(), SequenceFilters(), SelectionFilters()});
  return Find(kTable, name);
}

NativeFunction FindMethod(const Value& receiver, std::string_view name) {
  static const Table kStrings = MakeTable({StringMethods()});
  static const Table kDicts = MakeTable({kDictMethods});
  static const Table kSequences = MakeTable({kSequenceMethods});
  if (receiver.IsString()) return Find(kStrings, name);
  if (receiver.AsDict() != nullptr) return Find(kDicts, name);
  const Sequence* sequence = receiver.AsSequence();
  if (sequence == nullptr || sequence->kind > SequenceKind::kRange) return nullptr;
  if (sequence->kind == SequenceKind::kList && name == "copy") return Copy;
  return Find(kSequences, name);
}

bool IsForbiddenMethod(const Value& receiver, std::string_view name) {
  static constexpr std::string_view kOfLists[] = {"append", "clear",  "extend",  "insert",
                                                  "pop",    "remove", "reverse", "sort"};
  static constexpr std::string_view kOfDicts[] = {"clear", "pop", "popitem", "setdefault",
                                                  "update"};
  const auto is_among = [name](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  const Sequence* sequence = receiver.AsSequence();
  if (sequence != nullptr && sequence->kind == SequenceKind::kList) return is_among(kOfLists);
  return receiver.AsDict() != nullptr && is_among(kOfDicts);
}

std::span<const NamedFunction> GlobalFunctions() {
  return kGlobals;
}

}  // namespace reenact::local_engine
