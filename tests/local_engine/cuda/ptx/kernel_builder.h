// A kernel while its text is read: what its names stand for.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_KERNEL_BUILDER_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_KERNEL_BUILDER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/program.h"

namespace reenact::ptx {

// A declaration such as ".align 16 .b8 name[1024]": a variable's name, size and alignment.
struct Declaration {
  std::string name;
  size_t size_bytes = 0;
  size_t align_bytes = 1;
};

Declaration ParseDeclaration(std::string_view text);

class KernelBuilder : public Names {
 public:
  // `module` has the variables that stand outside of kernels; `dynamic_shared` the names of the
  // memory whose size the launch gives. Both outlive the builder.
  KernelBuilder(std::string name, const Module& module,
                const std::set<std::string>& dynamic_shared);

  void AddParameter(const Declaration& parameter);

  void SetMaxThreads(uint32_t threads) { kernel_.max_threads = threads; }

  void DeclareRegisters(std::string_view text);  // ".b32 %r<10>", ".pred p"
  void DeclareShared(const Declaration& variable);
  void DeclareLocal(const Declaration& variable);
  void AddLabel(std::string_view label);
  void AddInstruction(std::string_view text);

  // Throws Fault for a branch to a label that never came.
  Kernel Finish();

  Slot SlotOf(std::string_view operand) override;
  Slot ConstantSlot(uint64_t value) override;
  uint8_t WidthOf(std::string_view operand) override;
  void SetTarget(std::string_view label) override;
  bool ParameterOffset(std::string_view name, int64_t* offset) override;

 private:
  Slot NewSlot(uint64_t value);
  Slot RegisterSlot(const std::string& name);
  Slot VariableSlot(const std::string& name);

  const Module& module_;
  const std::set<std::string>& dynamic_shared_;
  Kernel kernel_;
  std::map<std::string, uint8_t> width_of_;                     // Registers.
  std::map<std::string, uint8_t, std::less<>> width_of_range_;  // "%r" of %r<10>.
  std::map<std::string, Slot> registers_;
  std::map<std::string, Slot> names_;  // Special registers and variables.
  std::map<uint64_t, Slot> constants_;
  std::map<std::string, uint64_t> addresses_;  // Of variables in shared and local memory.
  std::map<std::string, int64_t> parameters_;
  std::map<std::string, uint32_t> labels_;
  std::vector<std::pair<size_t, std::string>> branches_;
  std::vector<Slot> dynamic_shared_slots_;
  std::string next_target_;
};

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_KERNEL_BUILDER_H_
