// map, select and their kin: a filter or test applied to each item. jinja2 gives generators.

#include <string>
#include <utility>

#include "local_engine/chat_template/internal/builtins.h"
#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/sequence_keys.h"
#include "local_engine/chat_template/internal/template_error.h"

namespace reenact::local_engine {
namespace {

using Arg = const Arguments&;

// The arguments from number `from` on.
Arguments Rest(Arg arguments, size_t from) {
  Arguments rest;
  for (size_t i = from; i < arguments.positional.size(); ++i)
    rest.positional.push_back(arguments.positional[i]);
  rest.named = arguments.named;
  return rest;
}

const std::string& NameArgument(Arg arguments, size_t index) {
  if (!arguments.positional[index].IsString())
    throw TemplateError("takes the name of a filter or test");
  return arguments.positional[index].Utf8();
}

Value MapAttribute(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"attribute", "default"});
  const ItemKey key(interpreter, &bound.Required(0));
  std::vector<Value> items = TakeItems(interpreter, value);
  for (Value& item : items) {
    item = key.Of(item);
    if (item.IsUndefined() && bound.Get(1) != nullptr) item = *bound.Get(1);
  }
  return Value::Items(SequenceKind::kGenerator, std::move(items));
}

Value Map(Interpreter& interpreter, const Value& value, Arg arguments) {
  if (arguments.positional.empty()) return MapAttribute(interpreter, value, arguments);
  const std::string& name = NameArgument(arguments, 0);
  const Arguments rest = Rest(arguments, 1);
  std::vector<Value> items = TakeItems(interpreter, value);
  for (Value& item : items) {
    interpreter.budget()->Charge(kStepWork);
    item = interpreter.ApplyFilter(name, item, rest);
  }
  return Value::Items(SequenceKind::kGenerator, std::move(items));
}

// Of select and reject the test is the first argument; of selectattr and rejectattr the attribute
// is, and the test the second. Without a test an item is chosen for being true.
template <bool kByAttribute, bool kWanted>
Value Choose(Interpreter& interpreter, const Value& value, Arg arguments) {
  constexpr size_t kTestAt = kByAttribute ? 1 : 0;
  if (kByAttribute && arguments.positional.empty())
    throw TemplateError("needs the name of an attribute");
  const ItemKey key(interpreter, kByAttribute ? &arguments.positional[0] : nullptr);
  const bool has_test = arguments.positional.size() > kTestAt;
  const Arguments rest = has_test ? Rest(arguments, kTestAt + 1) : Arguments();
  std::vector<Value> chosen;
  for (Value& item : TakeItems(interpreter, value)) {
    interpreter.budget()->Charge(kStepWork);
    const Value tested = key.Of(item);
    const bool holds = has_test
                           ? interpreter.ApplyTest(NameArgument(arguments, kTestAt), tested, rest)
                           : IsTrue(tested);
    if (holds == kWanted) chosen.push_back(std::move(item));
  }
  return Value::Items(SequenceKind::kGenerator, std::move(chosen));
}

}  // namespace

std::span<const NamedFunction> SelectionFilters() {
  static constexpr NamedFunction kFilters[] = {
      {"map", Map},
      {"select", Choose<false, true>},
      {"reject", Choose<false, false>},
      {"selectattr", Choose<true, true>},
      {"rejectattr", Choose<true, false>},
  };
  return kFilters;
}

}  // namespace reenact::local_engine
