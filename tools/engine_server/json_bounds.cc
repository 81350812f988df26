#include "tools/engine_server/json_bounds.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reenact::engine_server {

std::string ExceededBound(std::string_view json) {
  std::vector<int> members;  // Of each open object or array; colons count, so arrays have none.
  for (size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
      case '"':
        for (++i; i < json.size() && json[i] != '"'; ++i) {
          if (json[i] == '\\') ++i;
        }
        break;
      case '{':
      case '[':
        members.push_back(0);
        if (members.size() > kDeepestJson) {
          return "nested deeper than " + std::to_string(kDeepestJson) + " levels";
        }
        break;
      case '}':
      case ']':
        if (!members.empty()) members.pop_back();
        break;
      case ':':
        if (!members.empty() && ++members.back() > kMostMembers) {
          return "an object with more than " + std::to_string(kMostMembers) + " members";
        }
        break;
      default:
        break;
    }
  }
  return "";
}

}  // namespace reenact::engine_server
