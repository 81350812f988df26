#include "schema/record.h"

namespace reenact::schema {
namespace {

constexpr std::array<std::string_view, 7> kBoundaryNames = {"",      "model",  "tool", "retrieval",
                                                            "clock", "random", "env"};
constexpr std::array<std::string_view, 9> kEndStateNames = {
    "",      "complete",           "truncated", "reset", "abandoned_by_caller", "provider_error",
    "error", "truncated_by_limit", "incomplete"};

template <size_t kSize>
std::string_view NameOf(const std::array<std::string_view, kSize>& names, uint8_t value) {
  return value > 0 && value < kSize ? names[value] : "unknown";
}

template <typename Enum, size_t kSize>
std::optional<Enum> ValueOf(const std::array<std::string_view, kSize>& names,
                            std::string_view text) {
  for (size_t i = 1; i < kSize; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view ToString(Boundary boundary) {
  return NameOf(kBoundaryNames, static_cast<uint8_t>(boundary));
}

std::string_view ToString(EndState state) {
  return NameOf(kEndStateNames, static_cast<uint8_t>(state));
}

std::optional<Boundary> ParseBoundary(std::string_view text) {
  return ValueOf<Boundary>(kBoundaryNames, text);
}

std::optional<EndState> ParseEndState(std::string_view text) {
  return ValueOf<EndState>(kEndStateNames, text);
}

std::string DescribeEnd(EndState state, std::string_view detail) {
  std::string description(ToString(state));
  if (!detail.empty()) description.append(":").append(detail);
  return description;
}

}  // namespace reenact::schema
