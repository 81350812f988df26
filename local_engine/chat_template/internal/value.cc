#include "local_engine/chat_template/internal/value.h"

#include <algorithm>
#include <cmath>

#include "local_engine/chat_template/internal/callable.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

// Finding a key that is no string takes a walk over all of them.
constexpr size_t kMaxKeysThatAreNoStrings = 1000;

void CheckSize(int depth, int64_t weight) {
  if (depth > kMaxValueDepth) {
    throw TemplateError("a value nests deeper than " + std::to_string(kMaxValueDepth),
                        TemplateFault::kLimit);
  }
  if (weight > kMaxValueWeight) {
    throw TemplateError("a value holds more than " + std::to_string(kMaxValueWeight) + " parts",
                        TemplateFault::kLimit);
  }
}

bool IsHashable(const Value& key) {
  if (const Sequence* sequence = key.AsSequence()) {
    return sequence->kind == SequenceKind::kTuple &&
           std::all_of(sequence->items.begin(), sequence->items.end(), IsHashable);
  }
  return key.AsDict() == nullptr;
}

// Numbers as Python compares them: True is 1. False where `value` is none within 64 bits.
bool AsNumber(const Value& value, double* number, int64_t* integer, bool* exact) {
  *exact = true;
  if (const bool* flag = value.As<bool>()) {
    *integer = *flag ? 1 : 0;
  } else if (const int64_t* whole = value.As<int64_t>()) {
    *integer = *whole;
  } else if (const double* real = value.As<double>()) {
    *number = *real;
    *exact = false;
    return true;
  } else {
    return false;
  }
  *number = static_cast<double>(*integer);
  return true;
}

bool EqualNumbers(const Value& a, const Value& b, bool* both_numbers) {
  double a_real = 0, b_real = 0;
  int64_t a_whole = 0, b_whole = 0;
  bool a_exact = false, b_exact = false;
  *both_numbers =
      AsNumber(a, &a_real, &a_whole, &a_exact) && AsNumber(b, &b_real, &b_whole, &b_exact);
  if (!*both_numbers) return false;
  return a_exact && b_exact ? a_whole == b_whole : a_real == b_real;
}

bool EqualSequences(const Sequence& a, const Sequence& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.kind == SequenceKind::kGenerator || a.kind == SequenceKind::kValuesView)
    return false;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), Equal);
}

bool EqualDicts(const Dict& a, const Dict& b) {
  if (a.entries().size() != b.entries().size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(), [&b](const Dict::Entry& entry) {
    const Value* other = b.Find(entry.first);
    return other != nullptr && Equal(entry.second, *other);
  });
}

}  // namespace

Value Value::MakeUndefined(std::string reason) {
  return Value(Variant(Undefined{std::make_shared<const std::string>(std::move(reason))}));
}

Value Value::String(std::string utf8) {
  return Value(Variant(Text{std::make_shared<const std::string>(std::move(utf8))}));
}

Value Value::BigInt(std::string digits) {
  return Value(Variant(BigInteger{std::make_shared<const std::string>(std::move(digits))}));
}

Value Value::Items(SequenceKind kind, std::vector<Value> items) {
  int depth = 0;
  int64_t weight = 1;
  for (const Value& item : items) {
    depth = std::max(depth, item.Depth());
    weight += item.Weight();
  }
  CheckSize(depth + 1, weight);
  return Value(Variant(
      std::make_shared<const Sequence>(Sequence{kind, std::move(items), depth + 1, weight})));
}

Value Value::Mapping(std::vector<std::pair<Value, Value>> entries) {
  auto dict = std::make_shared<Dict>();
  for (auto& [key, value] : entries) {
    if (!IsHashable(key)) throw TemplateError("unhashable type: '" + TypeName(key) + "'");
    dict->depth_ = std::max({dict->depth_, key.Depth() + 1, value.Depth() + 1});
    dict->weight_ += key.Weight() + value.Weight();
    CheckSize(dict->depth_, dict->weight_);
    const size_t found = dict->IndexOf(key);
    if (found != Dict::kAbsent) {
      dict->entries_[found].second = std::move(value);
      continue;
    }
    const size_t index = dict->entries_.size();
    if (key.IsString()) {
      dict->strings_.emplace(key.Utf8(), index);
    } else if (dict->others_.size() == kMaxKeysThatAreNoStrings) {
      throw TemplateError(
          "more than " + std::to_string(kMaxKeysThatAreNoStrings) + " keys that are no strings",
          TemplateFault::kLimit);
    } else {
      dict->others_.push_back(index);
    }
    dict->entries_.emplace_back(std::move(key), std::move(value));
  }
  return Value(Variant(DictPtr(std::move(dict))));
}

const Sequence* Value::AsSequence() const {
  const SequencePtr* sequence = As<SequencePtr>();
  return sequence == nullptr ? nullptr : sequence->get();
}

const Dict* Value::AsDict() const {
  const DictPtr* dict = As<DictPtr>();
  return dict == nullptr ? nullptr : dict->get();
}

int Value::Depth() const {
  if (const Sequence* sequence = AsSequence()) return sequence->depth;
  if (const Dict* dict = AsDict()) return dict->depth();
  if (const auto* callable = As<std::shared_ptr<const Callable>>())
    return (*callable)->receiver.Depth() + 1;
  if (const auto* loop = As<std::shared_ptr<Loop>>()) return (*loop)->items->depth + 1;
  return 0;
}

int64_t Value::Weight() const {
  if (const Sequence* sequence = AsSequence()) return sequence->weight;
  if (const Dict* dict = AsDict()) return dict->weight();
  return IsString() ? 1 + static_cast<int64_t>(Utf8().size() / 16) : 1;
}

const Value* Dict::Find(const Value& key) const {
  const size_t index = IndexOf(key);
  return index == kAbsent ? nullptr : &entries_[index].second;
}

const Value* Dict::Find(std::string_view key) const {
  const auto found = strings_.find(key);
  return found == strings_.end() ? nullptr : &entries_[found->second].second;
}

size_t Dict::IndexOf(const Value& key) const {
  if (key.IsString()) {
    const auto found = strings_.find(key.Utf8());
    return found == strings_.end() ? kAbsent : found->second;
  }
  for (const size_t index : others_) {
    if (Equal(entries_[index].first, key)) return index;
  }
  return kAbsent;
}

Value* Namespace::Find(std::string_view name) {
  for (auto& [attribute, value] : attributes) {
    if (attribute == name) return &value;
  }
  return nullptr;
}

std::string TypeName(const Value& value) {
  static constexpr const char* kTypes[] = {"Undefined", "NoneType",  "bool",     "int",
                                           "float",     "int",       "str",      "list",
                                           "dict",      "Namespace", "function", "LoopContext"};
  if (const Sequence* sequence = value.AsSequence()) {
    static constexpr const char* kSequences[] = {
        "list", "tuple", "range", "dict_keys", "dict_values", "dict_items", "generator"};
    return kSequences[static_cast<size_t>(sequence->kind)];
  }
  return kTypes[value.variant().index()];
}

bool IsTrue(const Value& value) {
  if (value.IsUndefined() || value.IsNone()) return false;
  if (const bool* flag = value.As<bool>()) return *flag;
  if (const int64_t* whole = value.As<int64_t>()) return *whole != 0;
  if (const double* real = value.As<double>()) return *real != 0;
  if (value.IsString()) return !value.Utf8().empty();
  if (const Sequence* sequence = value.AsSequence()) {
    return sequence->kind == SequenceKind::kGenerator || !sequence->items.empty();
  }
  if (const Dict* dict = value.AsDict()) return !dict->entries().empty();
  return true;
}

bool Equal(const Value& a, const Value& b) {
  bool both_numbers = false;
  const bool equal_numbers = EqualNumbers(a, b, &both_numbers);
  if (both_numbers) return equal_numbers;
  if (a.variant().index() != b.variant().index()) return false;
  if (a.IsUndefined() || a.IsNone()) return true;
  if (a.IsString()) return a.Utf8() == b.Utf8();
  if (const auto* digits = a.As<BigInteger>())
    return *digits->digits == *b.As<BigInteger>()->digits;
  if (const Sequence* sequence = a.AsSequence()) return EqualSequences(*sequence, *b.AsSequence());
  if (const Dict* dict = a.AsDict()) return EqualDicts(*dict, *b.AsDict());
  if (const auto* callable = a.As<std::shared_ptr<const Callable>>()) {
    return *callable == *b.As<std::shared_ptr<const Callable>>();
  }
  if (const auto* space = a.As<Namespace*>()) return *space == *b.As<Namespace*>();
  return *a.As<std::shared_ptr<Loop>>() == *b.As<std::shared_ptr<Loop>>();
}

std::vector<Value> Iterate(const Value& value) {
  if (value.IsUndefined()) return {};
  std::vector<Value> items;
  if (value.IsString()) {
    const std::string& text = value.Utf8();
    for (size_t position = 0; position < text.size();) {
      const size_t start = position;
      NextCodePoint(text, &position);
      items.push_back(Value::String(text.substr(start, position - start)));
    }
    return items;
  }
  if (const Sequence* sequence = value.AsSequence()) {
    if (sequence->kind != SequenceKind::kGenerator) return sequence->items;
    items.assign(sequence->items.begin() + static_cast<std::ptrdiff_t>(sequence->taken),
                 sequence->items.end());
    sequence->taken = sequence->items.size();
    return items;
  }
  if (const Dict* dict = value.AsDict()) {
    items.reserve(dict->entries().size());
    for (const Dict::Entry& entry : dict->entries()) items.push_back(entry.first);
    return items;
  }
  throw TemplateError("'" + TypeName(value) + "' object is not iterable");
}

}  // namespace reenact::local_engine
