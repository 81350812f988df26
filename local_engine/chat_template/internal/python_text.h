// Values as the text that Python gives them.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_PYTHON_TEXT_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_PYTHON_TEXT_H_

#include <string>
#include <string_view>

#include "local_engine/chat_template/internal/value.h"

namespace reenact::local_engine {

// str(value). Throws TemplateError for what Python would name by its address.
std::string ToText(const Value& value);
// repr(value).
std::string Repr(const Value& value);
// 1.0, 1e-05, 1e+16, inf: the shortest digits that read back as the same double.
std::string FloatText(double value);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_PYTHON_TEXT_H_
