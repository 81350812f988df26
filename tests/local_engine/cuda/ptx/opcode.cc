#include "tests/local_engine/cuda/ptx/opcode.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tests/local_engine/cuda/ptx/fault.h"

namespace reenact::ptx {
namespace {

constexpr std::string_view kNever[] = {"approx", "ftz", "full", "sat",       "rz",
                                       "rm",     "rp",  "rna",  "satfinite", "relu"};
constexpr std::string_view kRounded[] = {"add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp"};
constexpr std::string_view kAtomic[] = {"atom", "red"};

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

Opcode::Opcode(std::string_view text) : text_(text) {
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t dot = std::min(text.find('.', begin), text.size());
    const std::string part(text.substr(begin, dot - begin));
    if (begin == 0) {
      name_ = part;
    } else {
      modifiers_.push_back(part);
    }
    begin = dot + 1;
  }
  RefuseOutsideProfile();
}

void Opcode::RefuseOutsideProfile() const {
  for (std::string_view modifier : kNever) {
    if (Has(modifier)) throw Fault("profile n1 has no ." + std::string(modifier) + ": " + text_);
  }
  const bool is_float = std::any_of(modifiers_.begin(), modifiers_.end(), [](const auto& modifier) {
    return IsFloat(TypeNamed(modifier)) || modifier == "f16x2" || modifier == "bf16x2";
  });
  if (!is_float) return;
  if (Contains(kAtomic, name_) && !Has("exch")) {
    throw Fault("a float atomic, whose order nobody has written: " + text_);
  }
  if (Contains(kRounded, name_) && !Has("rn")) {
    throw Fault("a float operation without .rn, which the assembler may contract: " + text_);
  }
}

bool Opcode::Has(std::string_view modifier) const {
  return Contains(modifiers_, modifier);
}

bool Opcode::Take(std::string_view modifier) {
  const auto at = std::find(modifiers_.begin(), modifiers_.end(), modifier);
  if (at == modifiers_.end()) return false;
  modifiers_.erase(at);
  return true;
}

void Opcode::TakeAny(std::initializer_list<std::string_view> modifiers) {
  for (std::string_view modifier : modifiers) Take(modifier);
}

Type Opcode::TakeType() {
  for (size_t i = modifiers_.size(); i-- > 0;) {
    const Type type = TypeNamed(modifiers_[i]);
    if (type == Type::kNone) continue;
    modifiers_.erase(modifiers_.begin() + static_cast<std::ptrdiff_t>(i));
    return type;
  }
  return Type::kNone;
}

std::string Opcode::TakeWithPrefix(std::string_view prefix) {
  for (size_t i = 0; i < modifiers_.size(); ++i) {
    if (modifiers_[i].compare(0, prefix.size(), prefix) != 0) continue;
    const std::string rest = modifiers_[i].substr(prefix.size());
    modifiers_.erase(modifiers_.begin() + static_cast<std::ptrdiff_t>(i));
    return rest;
  }
  return "";
}

}  // namespace reenact::ptx
