#ifndef REENACT_TESTS_TOOLS_HAS_TEXT_H_
#define REENACT_TESTS_TOOLS_HAS_TEXT_H_

#include <string_view>

namespace reenact::tools {

inline bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace reenact::tools

#endif  // REENACT_TESTS_TOOLS_HAS_TEXT_H_
