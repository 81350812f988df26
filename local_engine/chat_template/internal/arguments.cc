#include <algorithm>
#include <string>

#include "local_engine/chat_template/internal/callable.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/template_error.h"

namespace reenact::local_engine {

BoundArguments::BoundArguments(const Arguments& arguments,
                               std::initializer_list<std::string_view> parameters)
    : values_(parameters.size(), nullptr), names_(parameters) {
  if (arguments.positional.size() > names_.size()) {
    throw TemplateError("takes at most " + std::to_string(names_.size()) + " arguments, " +
                        std::to_string(arguments.positional.size()) + " were given");
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) throw TemplateError("has no parameter '" + name + "'");
    const Value*& slot = values_[static_cast<size_t>(found - names_.begin())];
    if (slot != nullptr) throw TemplateError("got two values for '" + name + "'");
    slot = &value;
  }
}

const Value& BoundArguments::Required(size_t parameter) const {
  if (values_[parameter] == nullptr)
    throw TemplateError("needs an argument '" + std::string(names_[parameter]) + "'");
  return *values_[parameter];
}

bool BoundArguments::Flag(size_t parameter, bool otherwise) const {
  return values_[parameter] == nullptr ? otherwise : IsTrue(*values_[parameter]);
}

int64_t BoundArguments::Integer(size_t parameter, int64_t otherwise) const {
  if (values_[parameter] == nullptr) return otherwise;
  const std::optional<int64_t> integer = AsInteger(*values_[parameter]);
  if (!integer) {
    throw TemplateError("'" + std::string(names_[parameter]) + "' must be int, not " +
                        TypeName(*values_[parameter]));
  }
  return *integer;
}

std::string BoundArguments::String(size_t parameter, std::string_view otherwise) const {
  if (values_[parameter] == nullptr) return std::string(otherwise);
  if (!values_[parameter]->IsString()) {
    throw TemplateError("'" + std::string(names_[parameter]) + "' must be str, not " +
                        TypeName(*values_[parameter]));
  }
  return values_[parameter]->Utf8();
}

}  // namespace reenact::local_engine
