// An instruction's name and modifiers, taken apart one by one: what nobody takes is an error, so
// that no modifier is ever passed over.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_OPCODE_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_OPCODE_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tests/local_engine/cuda/ptx/program.h"

namespace reenact::ptx {

class Opcode {
 public:
  // "ld.global.v4.f32". Throws Fault for what profile n1 has no place for: approximations, flushed
  // subnormals, saturation, other roundings, float atomics, and float operations without a rounding
  // of their own, which the assembler may contract.
  explicit Opcode(std::string_view text);

  const std::string& text() const { return text_; }

  const std::string& name() const { return name_; }

  // Whether the modifier was there; it is not, afterwards.
  bool Take(std::string_view modifier);

  // Takes all that are there, which make no difference to an interpreter.
  void TakeAny(std::initializer_list<std::string_view> modifiers);

  // The last of the modifiers that is a type; kNone without one.
  Type TakeType();

  // The first modifier that begins so, without its beginning; empty without one.
  std::string TakeWithPrefix(std::string_view prefix);

  const std::vector<std::string>& rest() const { return modifiers_; }

 private:
  void RefuseOutsideProfile() const;
  bool Has(std::string_view modifier) const;

  std::string text_;
  std::string name_;
  std::vector<std::string> modifiers_;
};

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_OPCODE_H_
