// A PTX module as the interpreter runs it: kernels of decoded instructions.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_PROGRAM_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_PROGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reenact::ptx {

enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kU8,
  kS8,
  kB16,
  kU16,
  kS16,
  kF16,
  kBf16,
  kB32,
  kU32,
  kS32,
  kF32,
  kB64,
  kU64,
  kS64,
  kF64,
};

// kNone for a name that is no type.
Type TypeNamed(std::string_view name);
int SizeBytes(Type type);
bool IsSigned(Type type);
bool IsFloat(Type type);

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kParameter, kConstant };

// Where the spaces of a block begin in generic addresses, out of the way of any host pointer.
// Within their own space, addresses begin at 0.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 60;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << 60;
inline constexpr uint64_t kWindowMask = uint64_t{3} << 60;

// The index of a value in a lane's register file. Immediates, special registers and the addresses
// of variables have places there too, filled before the first instruction, so that every operand is
// read alike.
using Slot = uint16_t;
inline constexpr Slot kNoSlot = 0xffff;

struct Lane;
struct Warp;
struct Instruction;
using ExecuteLane = void (*)(Lane& lane, const Instruction& instruction);
using ExecuteWarp = void (*)(Warp& warp, const Instruction& instruction);

struct Instruction {
  // One of the two. That of a warp runs when every lane of the mask has arrived at it.
  ExecuteLane execute = nullptr;
  ExecuteWarp execute_warp = nullptr;
  Slot mask = kNoSlot;   // Of execute_warp.
  Slot guard = kNoSlot;  // A predicate; without effect where it is false.
  bool guard_negated = false;
  Type type = Type::kNone;
  Type source_type = Type::kNone;  // Of conversions.
  Space space = Space::kGeneric;
  bool read_only = false;             // ld.global.nc: data that nobody writes in this launch.
  bool last_operand_negated = false;  // !%p
  uint8_t vector = 1;
  uint8_t choice = 0;        // A comparison, a shuffle's mode: the family's own.
  uint8_t combine = 0;       // How setp combines.
  uint8_t result_bytes = 4;  // Width of the result's register.
  std::array<Slot, 4> results = {kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  std::array<Slot, 10> operands = {};
  int64_t offset = 0;     // Of an address.
  uint32_t target = 0;    // Of a branch.
  const char* text = "";  // As nvcc wrote it; belongs to the kernel.
};

enum class Special : uint8_t {
  kThreadX,
  kThreadY,
  kThreadZ,
  kBlockDimX,
  kBlockDimY,
  kBlockDimZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kGridDimX,
  kGridDimY,
  kGridDimZ,
  kLane,
};

struct Parameter {
  size_t offset = 0;
  size_t size_bytes = 0;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;  // The last one returns.
  std::vector<Parameter> parameters;
  size_t parameter_bytes = 0;
  size_t shared_bytes = 0;  // Without the dynamic part, which follows it.
  size_t local_bytes = 0;
  uint32_t max_threads = 1024;
  std::vector<uint64_t> first_registers;  // Constants in their places, poison elsewhere.
  std::vector<std::pair<Slot, Special>> specials;
  std::map<std::string, int> opcode_counts;
  std::vector<std::unique_ptr<std::string>> texts;
};

// A .const or .global variable. What has no initial value is zero.
struct Variable {
  std::unique_ptr<std::byte[]> bytes;
  size_t size_bytes = 0;
  bool constant = false;
};

struct Module {
  std::string target;  // "sm_90"
  std::map<std::string, Kernel> kernels;
  std::map<std::string, Variable> variables;

  // By the name in the source: `gemv` finds the only kernel whose demangled name is gemv, in any
  // namespace and with any template arguments. Null when there is none or more than one.
  const Kernel* Find(std::string_view name) const;
};

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_PROGRAM_H_
