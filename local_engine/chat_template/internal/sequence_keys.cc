#include "local_engine/chat_template/internal/sequence_keys.h"

#include <algorithm>
#include <utility>

#include "local_engine/chat_template/internal/builtins.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {

std::vector<Value> TakeItems(Interpreter& interpreter, const Value& value) {
  const int64_t count =
      value.IsString()                ? static_cast<int64_t>(value.Utf8().size())
      : value.AsSequence() != nullptr ? static_cast<int64_t>(value.AsSequence()->items.size())
      : value.AsDict() != nullptr     ? static_cast<int64_t>(value.AsDict()->entries().size())
                                      : 1;
  interpreter.budget()->Charge(count, kItemWork);
  return Iterate(value);
}

ItemKey::ItemKey(Interpreter& interpreter, const Value* attribute, bool ignore_case)
    : interpreter_(interpreter), ignore_case_(ignore_case) {
  if (attribute == nullptr) return;
  if (attribute->IsString()) {
    AddPath(attribute->Utf8());
  } else {
    path_.push_back(*attribute);
  }
}

ItemKey::ItemKey(Interpreter& interpreter, std::string_view path, bool ignore_case)
    : interpreter_(interpreter), ignore_case_(ignore_case) {
  AddPath(path);
}

void ItemKey::AddPath(std::string_view path) {
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('.', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    const bool is_index =
        !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    path_.push_back(is_index ? ParseInteger(part, 10).value() : Value::String(std::string(part)));
    start = end + 1;
  }
}

Value ItemKey::Of(const Value& item) const {
  Value value = item;
  for (const Value& part : path_) {
    interpreter_.budget()->Charge(kStepWork);
    value = interpreter_.Item(value, part);
  }
  if (!ignore_case_ || !value.IsString()) return value;
  interpreter_.budget()->Charge(static_cast<int64_t>(value.Utf8().size()), 4);
  return Value::String(Lower(value.Utf8()));
}

ItemKeys::ItemKeys(Interpreter& interpreter, const Value* attribute, bool ignore_case) {
  if (attribute == nullptr || !attribute->IsString()) {
    keys_.emplace_back(interpreter, attribute, ignore_case);
    return;
  }
  const std::string_view paths = attribute->Utf8();
  for (size_t start = 0; start <= paths.size();) {
    const size_t end = std::min(paths.find(',', start), paths.size());
    keys_.emplace_back(interpreter, paths.substr(start, end - start), ignore_case);
    start = end + 1;
  }
}

Value ItemKeys::Of(const Value& item) const {
  if (keys_.size() == 1) return keys_[0].Of(item);
  std::vector<Value> values;
  for (const ItemKey& key : keys_) values.push_back(key.Of(item));
  return Value::List(std::move(values));
}

std::vector<Value> Sorted(Interpreter& interpreter, std::vector<Value> items, const ItemKeys& keys,
                          bool reverse) {
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : items) {
    Value key = keys.Of(item);
    keyed.emplace_back(std::move(key), std::move(item));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return reverse ? Less(b.first, a.first, interpreter.budget())
                   : Less(a.first, b.first, interpreter.budget());
  });
  for (size_t i = 0; i < items.size(); ++i) items[i] = std::move(keyed[i].second);
  return items;
}

}  // namespace reenact::local_engine
