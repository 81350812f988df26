#include "tests/fuzz/fuzz_target.h"

#include <map>

namespace reenact::fuzz {
namespace {

// Made by whoever comes first: the order of what runs before main is open.
std::map<std::string_view, Target>& Targets() {
  static auto* const targets = new std::map<std::string_view, Target>;
  return *targets;
}

}  // namespace

bool AddTarget(const Target& target) {
  return Targets().emplace(target.name, target).second;
}

const Target* FindTarget(std::string_view name) {
  const auto found = Targets().find(name);
  return found == Targets().end() ? nullptr : &found->second;
}

}  // namespace reenact::fuzz
