// The filters, tests, methods and functions that templates may use, by name.
//
// Those of jinja2 and Python that chat templates use. Left out on purpose: what mutates its operand
// (the sandbox forbids it), what is random or prints addresses, and what is for HTML alone.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_BUILTINS_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_BUILTINS_H_

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "local_engine/chat_template/internal/callable.h"

namespace reenact::local_engine {

struct NamedFunction {
  std::string_view name;
  NativeFunction function;
};

// Null where there is none of that name.
NativeFunction FindFilter(std::string_view name);
NativeFunction FindTest(std::string_view name);
// Of strings, dicts and sequences.
NativeFunction FindMethod(const Value& receiver, std::string_view name);
// Whether Python has a method of that name that the sandbox forbids.
bool IsForbiddenMethod(const Value& receiver, std::string_view name);
std::span<const NamedFunction> GlobalFunctions();

// Where FindFilter looks.
std::span<const NamedFunction> TextFilters();
std::span<const NamedFunction> NumberFilters();
std::span<const NamedFunction> SequenceFilters();
std::span<const NamedFunction> SelectionFilters();
// Where FindMethod looks.
std::span<const NamedFunction> StringMethods();

// Text operations that are filters and methods alike.
Value ReplaceText(Interpreter& interpreter, std::string_view text, const Arguments& arguments);
std::string_view StripCharacters(std::string_view text, const Value* characters, bool left,
                                 bool right);
// Lines without their ends, at every line boundary that Python knows.
std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends);
// What int(text) gives in a base; nothing where Python raises ValueError.
std::optional<Value> ParseInteger(std::string_view text, int base);
std::optional<double> ParseReal(std::string_view text);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_BUILTINS_H_
