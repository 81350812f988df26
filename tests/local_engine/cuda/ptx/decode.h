// From an instruction's text to what executes it. A family of instructions is a file; each has a
// function below.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_DECODE_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/local_engine/cuda/ptx/opcode.h"
#include "tests/local_engine/cuda/ptx/program.h"

namespace reenact::ptx {

// What operands are called in a kernel.
class Names {
 public:
  virtual ~Names() = default;

  // Where the value of "%r1", "-1024", "0f3F800000", "%tid.x" or a variable's address is. Throws
  // Fault for others.
  virtual Slot SlotOf(std::string_view operand) = 0;
  virtual Slot ConstantSlot(uint64_t value) = 0;
  // Of the register with that name; 8 for what is no register.
  virtual uint8_t WidthOf(std::string_view operand) = 0;
  // A branch to a label that may stand further down.
  virtual void SetTarget(std::string_view label) = 0;
  // Bytes of the kernel's parameters before `name`; false when no parameter is called so.
  virtual bool ParameterOffset(std::string_view name, int64_t* offset) = 0;
};

// An instruction on its way: the opcode without what was taken, and the texts of the operands.
struct Draft {
  Opcode opcode;
  std::vector<std::string> operands;
  Names* names = nullptr;
  Instruction instruction;

  // Operands `first` to the last as the instruction's operands in order; "!" only before the last.
  void TakeOperands(size_t first);
  // Operand 0 as the result.
  void TakeResult();
  void TakeResultAndOperands();
  // "{%r1, %r2}" or "%r1" as results, or as operands from `at` on. Returns how many.
  size_t TakeResults(std::string_view list);
  size_t TakeSources(std::string_view list, size_t at);
  // "[%rd1+8]" as operand `at` and the offset.
  void TakeAddress(std::string_view address, size_t at);
  // Throws Fault unless there are so many operands.
  void Expect(size_t operand_count) const;
};

// Each: false when the instruction is not of its family. Throws Fault for a variant that it does
// not know.
bool DecodeFloat(Draft* draft);
bool DecodeInteger(Draft* draft);
bool DecodeBits(Draft* draft);
bool DecodeMove(Draft* draft);
bool DecodeConversion(Draft* draft);
bool DecodeComparison(Draft* draft);
bool DecodeMemory(Draft* draft);
bool DecodeAsyncCopy(Draft* draft);
bool DecodeAtomic(Draft* draft);
bool DecodeControl(Draft* draft);
bool DecodeWarp(Draft* draft);
bool DecodeMatrix(Draft* draft);

// "@!%p1 add.s32 %r1, %r2, -1": any instruction. Throws Fault; one for an unknown instruction names
// it.
Instruction Decode(std::string_view text, Names* names);

// Parts between commas outside brackets and braces, trimmed; none of an empty text.
std::vector<std::string> SplitOperands(std::string_view text, char separator = ',');
std::string_view Trimmed(std::string_view text);

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_DECODE_H_
