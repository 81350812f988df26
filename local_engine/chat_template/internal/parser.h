// Template text to its tree.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_PARSER_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_PARSER_H_

#include <string_view>

#include "local_engine/chat_template/internal/syntax_tree.h"

namespace reenact::local_engine {

// Throws TemplateError, its message beginning with the line.
Body ParseTemplate(std::string_view source);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_PARSER_H_
