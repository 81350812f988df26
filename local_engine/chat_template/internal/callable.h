// What a template can call: macros, methods of values, functions.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_CALLABLE_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_CALLABLE_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "local_engine/chat_template/internal/value.h"

namespace reenact::local_engine {

class Interpreter;
struct MacroDefinition;
struct Scope;

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// A function, a filter, a test or a method. The first of `operands` is the value that a filter,
// test or method works on; functions have none.
using NativeFunction = Value (*)(Interpreter& interpreter, const Value& operand,
                                 const Arguments& arguments);

struct Callable {
  std::string name;
  NativeFunction function = nullptr;  // Null for a macro.
  Value receiver;
  const MacroDefinition* macro = nullptr;
  Scope* scope = nullptr;  // Where the macro was defined.
};

// Arguments by parameter, as Python binds them.
class BoundArguments {
 public:
  // Throws TemplateError for more arguments than parameters, and for a name that is none of them.
  BoundArguments(const Arguments& arguments, std::initializer_list<std::string_view> parameters);

  // Null where not given.
  const Value* Get(size_t parameter) const { return values_[parameter]; }

  const Value& Required(size_t parameter) const;
  bool Flag(size_t parameter, bool otherwise) const;
  // Throws TemplateError where the argument is no integer.
  int64_t Integer(size_t parameter, int64_t otherwise) const;
  // Throws TemplateError where the argument is no string.
  std::string String(size_t parameter, std::string_view otherwise) const;

  // Not given, or None.
  bool Absent(size_t parameter) const {
    return values_[parameter] == nullptr || values_[parameter]->IsNone();
  }

 private:
  std::vector<const Value*> values_;
  std::vector<std::string_view> names_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_CALLABLE_H_
