// Python's operators on values. All throw TemplateError where Python raises.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_OPERATORS_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_OPERATORS_H_

#include <optional>

#include "local_engine/chat_template/internal/budget.h"
#include "local_engine/chat_template/internal/syntax_tree.h"
#include "local_engine/chat_template/internal/value.h"

namespace reenact::local_engine {

// Throws why the value is undefined.
[[noreturn]] void FailUndefined(const Value& value);

// Not kAnd and kOr, which do not evaluate both sides.
Value Calculate(BinaryOperator op, const Value& left, const Value& right, Budget* budget);
Value Negative(const Value& value);
bool Compare(CompareOperator op, const Value& left, const Value& right, Budget* budget);
bool EqualWithin(const Value& left, const Value& right, Budget* budget);
bool Less(const Value& left, const Value& right, Budget* budget);
bool Contains(const Value& container, const Value& item, Budget* budget);
// len(value); for undefined values 0.
int64_t Length(const Value& value);

// An integer, True and False included.
std::optional<int64_t> AsInteger(const Value& value);
// A number as a double.
std::optional<double> AsReal(const Value& value);

// object[index] of a string or sequence; nothing where it has no such element.
std::optional<Value> Element(const Value& object, int64_t index);
// object[start:stop:step] of a string or sequence; a bound is none where it is not given.
Value Slice(const Value& object, const Value& start, const Value& stop, const Value& step,
            Budget* budget);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_OPERATORS_H_
