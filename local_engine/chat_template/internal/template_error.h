// How a template fails inside this module. Nothing outside sees the exception: ChatTemplate turns
// it into a status. An interpreter leaves many nested evaluations at once, and nowhere else does.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_TEMPLATE_ERROR_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_TEMPLATE_ERROR_H_

#include <stdexcept>
#include <string>

namespace reenact::local_engine {

enum class TemplateFault {
  kTemplate,     // The text is not a template that can be rendered, or not with this input.
  kRefused,      // The template itself refused the input: raise_exception.
  kLimit,        // A limit was reached.
  kUnsupported,  // Jinja that this module leaves out.
};

class TemplateError : public std::runtime_error {
 public:
  explicit TemplateError(const std::string& message, TemplateFault fault = TemplateFault::kTemplate)
      : std::runtime_error(message), fault_(fault) {}

  TemplateFault fault() const { return fault_; }

 private:
  TemplateFault fault_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_TEMPLATE_ERROR_H_
