// Finding and cutting: the methods of strings that take them apart.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_STRING_SPLIT_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_STRING_SPLIT_H_

#include <cstddef>
#include <string_view>

#include "local_engine/chat_template/internal/callable.h"

namespace reenact::local_engine {

// Offset of the first `wanted` at or after `from`; npos where there is none. Linear in the worst
// case, which std::string_view::find is not.
size_t FindIn(std::string_view text, std::string_view wanted, size_t from = 0);
// The text as a value, charged.
Value Copied(Interpreter& interpreter, std::string_view text);

// Methods of strings.
Value Split(Interpreter& interpreter, const Value& text, const Arguments& arguments);
Value SplitFromRight(Interpreter& interpreter, const Value& text, const Arguments& arguments);
Value Partition(Interpreter& interpreter, const Value& text, const Arguments& arguments);
Value Lines(Interpreter& interpreter, const Value& text, const Arguments& arguments);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_STRING_SPLIT_H_
