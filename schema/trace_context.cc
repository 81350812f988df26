#include "schema/trace_context.h"

#include <algorithm>

namespace reenact::schema {
namespace {

constexpr size_t kTraceIdSize = 32;
// "00-" trace id "-" parent id "-" flags; later versions may go on after that.
constexpr size_t kTraceParentSize = 55;

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

bool IsTraceParent(std::string_view text) {
  if (text.size() < kTraceParentSize) return false;
  const std::string_view version = text.substr(0, 2);
  if (!IsHex(version) || version == "ff" || version == "FF") return false;
  if (text.size() > kTraceParentSize && (version == "00" || text[kTraceParentSize] != '-')) {
    return false;
  }
  return text[2] == '-' && text[35] == '-' && text[52] == '-' && IsHex(text.substr(36, 16)) &&
         IsHex(text.substr(53, 2));
}

}  // namespace

std::string ParseTraceId(std::string_view text) {
  std::string_view id;
  if (text.size() == kTraceIdSize) {
    id = text;
  } else if (IsTraceParent(text)) {
    id = text.substr(3, kTraceIdSize);
  }
  if (id.empty() || !IsHex(id) || id.find_first_not_of('0') == std::string_view::npos) return {};
  std::string lower(id);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace reenact::schema
