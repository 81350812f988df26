// Python's two ways to put values into a text.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_FORMAT_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_FORMAT_H_

#include <string>
#include <string_view>

#include "local_engine/chat_template/internal/budget.h"
#include "local_engine/chat_template/internal/callable.h"
#include "local_engine/chat_template/internal/value.h"

namespace reenact::local_engine {

// format % operand: s, r, d, i, x, X, o, c, e, f, g and % with flags, width and precision; a tuple
// holds several operands, a dict is asked by %(name)s. Throws TemplateError where Python raises.
std::string FormatPercent(std::string_view format, const Value& operand, Budget* budget);

// format.format(...): {}, {0} and {name}, {{ and }}. Throws TemplateError where Python raises, and
// for conversions, attributes and format specifications, which are not supported.
std::string FormatBraces(std::string_view format, const Arguments& arguments, Budget* budget);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_FORMAT_H_
