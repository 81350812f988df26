#include "tests/local_engine/cuda/ptx/kernel_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/scanner.h"

namespace reenact::ptx {
namespace {

// A register that nobody wrote: a NaN, an address of no buffer, a number that stands out.
constexpr uint64_t kPoison = 0xfff4dead7ff4deadu;
constexpr size_t kDynamicSharedAlign = 1024;

constexpr std::pair<std::string_view, Special> kSpecials[] = {
    {"%tid.x", Special::kThreadX},     {"%tid.y", Special::kThreadY},
    {"%tid.z", Special::kThreadZ},     {"%ntid.x", Special::kBlockDimX},
    {"%ntid.y", Special::kBlockDimY},  {"%ntid.z", Special::kBlockDimZ},
    {"%ctaid.x", Special::kBlockX},    {"%ctaid.y", Special::kBlockY},
    {"%ctaid.z", Special::kBlockZ},    {"%nctaid.x", Special::kGridDimX},
    {"%nctaid.y", Special::kGridDimY}, {"%nctaid.z", Special::kGridDimZ},
    {"%laneid", Special::kLane}};

size_t Aligned(size_t offset, size_t align) {
  return (offset + align - 1) / align * align;
}

// "-1024", "0x7f", "0f3F800000", "0d3FF0000000000000".
bool ParseNumber(std::string_view text, uint64_t* value) {
  const std::string number(text);
  char* end = nullptr;
  if (number.size() > 2 && number[0] == '0' &&
      (number[1] == 'f' || number[1] == 'F' || number[1] == 'd' || number[1] == 'D')) {
    *value = std::strtoull(number.c_str() + 2, &end, 16);
  } else if (number[0] == '-') {
    *value = static_cast<uint64_t>(std::strtoll(number.c_str(), &end, 0));
  } else {
    *value = std::strtoull(number.c_str(), &end, 0);
    if (*end == 'U') ++end;
  }
  return end != number.c_str() && *end == '\0';
}

}  // namespace

Declaration ParseDeclaration(std::string_view text) {
  Declaration declaration;
  Scanner scanner(text);
  size_t count = 1;
  size_t element_bytes = 0;
  while (!scanner.AtEnd()) {
    std::string_view word = scanner.Word();
    if (word == ".align") {
      declaration.align_bytes = std::strtoull(std::string(scanner.Word()).c_str(), nullptr, 10);
    } else if (word == ".ptr" || word == ".global" || word == ".shared" || word == ".const") {
      continue;
    } else if (word.front() == '.') {
      const Type type = TypeNamed(word.substr(1));
      if (type == Type::kNone) throw Fault("an unknown declaration: " + std::string(text));
      element_bytes = static_cast<size_t>(SizeBytes(type));
    } else {
      const size_t bracket = word.find('[');
      declaration.name = word.substr(0, bracket);
      if (bracket != std::string_view::npos) {
        count = std::strtoull(std::string(word.substr(bracket + 1)).c_str(), nullptr, 10);
      }
    }
  }
  declaration.size_bytes = count * element_bytes;
  declaration.align_bytes = std::max(declaration.align_bytes, element_bytes);
  return declaration;
}

KernelBuilder::KernelBuilder(std::string name, const Module& module,
                             const std::set<std::string>& dynamic_shared)
    : module_(module), dynamic_shared_(dynamic_shared) {
  kernel_.name = std::move(name);
}

void KernelBuilder::AddParameter(const Declaration& parameter) {
  const size_t offset = Aligned(kernel_.parameter_bytes, parameter.align_bytes);
  kernel_.parameters.push_back({offset, parameter.size_bytes});
  parameters_[parameter.name] = static_cast<int64_t>(offset);
  kernel_.parameter_bytes = offset + parameter.size_bytes;
}

void KernelBuilder::DeclareRegisters(std::string_view text) {
  Scanner scanner(text);
  const Type type = TypeNamed(scanner.Word().substr(1));
  if (type == Type::kNone) throw Fault("registers of an unknown type: " + std::string(text));
  const uint8_t width = static_cast<uint8_t>(type == Type::kPred ? 1 : SizeBytes(type));
  while (!scanner.AtEnd()) {
    std::string_view name = scanner.Word();
    if (name.back() == ',') name.remove_suffix(1);
    const size_t range = name.find('<');
    if (range == std::string_view::npos) {
      width_of_[std::string(name)] = width;
    } else {
      width_of_range_[std::string(name.substr(0, range))] = width;
    }
  }
}

void KernelBuilder::DeclareShared(const Declaration& variable) {
  const size_t offset = Aligned(kernel_.shared_bytes, variable.align_bytes);
  addresses_[variable.name] = offset;
  kernel_.shared_bytes = offset + variable.size_bytes;
}

void KernelBuilder::DeclareLocal(const Declaration& variable) {
  const size_t offset = Aligned(kernel_.local_bytes, variable.align_bytes);
  addresses_[variable.name] = offset;
  kernel_.local_bytes = offset + variable.size_bytes;
}

void KernelBuilder::AddLabel(std::string_view label) {
  labels_[std::string(label)] = static_cast<uint32_t>(kernel_.code.size());
}

void KernelBuilder::AddInstruction(std::string_view text) {
  kernel_.texts.push_back(std::make_unique<std::string>(text));
  next_target_.clear();
  try {
    Instruction instruction = Decode(text, this);
    instruction.text = kernel_.texts.back()->c_str();
    if (!next_target_.empty()) branches_.emplace_back(kernel_.code.size(), next_target_);
    kernel_.code.push_back(instruction);
  } catch (const Fault& fault) {
    throw Fault(kernel_.name + ": " + fault.what() + " in \"" + std::string(text) + "\"");
  }
  std::string_view opcode = Trimmed(text);
  if (opcode.front() == '@') opcode = Trimmed(opcode.substr(opcode.find_first_of(" \t")));
  ++kernel_.opcode_counts[std::string(opcode.substr(0, opcode.find_first_of(" \t")))];
}

Kernel KernelBuilder::Finish() {
  AddInstruction("ret");
  for (const auto& [at, label] : branches_) {
    const auto found = labels_.find(label);
    if (found == labels_.end()) throw Fault(kernel_.name + ": no label " + label);
    kernel_.code[at].target = found->second;
  }
  if (!dynamic_shared_slots_.empty()) {
    kernel_.shared_bytes = Aligned(kernel_.shared_bytes, kDynamicSharedAlign);
  }
  for (Slot slot : dynamic_shared_slots_) kernel_.first_registers[slot] = kernel_.shared_bytes;
  return std::move(kernel_);
}

Slot KernelBuilder::NewSlot(uint64_t value) {
  if (kernel_.first_registers.size() >= kNoSlot) throw Fault("too many registers");
  kernel_.first_registers.push_back(value);
  return static_cast<Slot>(kernel_.first_registers.size() - 1);
}

Slot KernelBuilder::ConstantSlot(uint64_t value) {
  const auto found = constants_.find(value);
  if (found != constants_.end()) return found->second;
  return constants_[value] = NewSlot(value);
}

uint8_t KernelBuilder::WidthOf(std::string_view operand) {
  const auto named = width_of_.find(std::string(operand));
  if (named != width_of_.end()) return named->second;
  const size_t digits = operand.find_last_not_of("0123456789") + 1;
  const auto range = width_of_range_.find(operand.substr(0, digits));
  return range != width_of_range_.end() && digits < operand.size() ? range->second : 0;
}

Slot KernelBuilder::RegisterSlot(const std::string& name) {
  const auto found = registers_.find(name);
  if (found != registers_.end()) return found->second;
  return registers_[name] = NewSlot(kPoison);
}

Slot KernelBuilder::VariableSlot(const std::string& name) {
  if (const auto own = addresses_.find(name); own != addresses_.end()) return NewSlot(own->second);
  if (dynamic_shared_.count(name) != 0) {
    dynamic_shared_slots_.push_back(NewSlot(0));
    return dynamic_shared_slots_.back();
  }
  if (const auto parameter = parameters_.find(name); parameter != parameters_.end()) {
    return NewSlot(static_cast<uint64_t>(parameter->second));
  }
  const auto variable = module_.variables.find(name);
  if (variable == module_.variables.end()) throw Fault("an unknown operand \"" + name + "\"");
  return NewSlot(reinterpret_cast<uint64_t>(variable->second.bytes.get()));
}

Slot KernelBuilder::SlotOf(std::string_view operand) {
  const std::string name(operand);
  if (name == "_" || WidthOf(name) != 0) return RegisterSlot(name);
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  for (const auto& [special, meaning] : kSpecials) {
    if (special != name) continue;
    const Slot slot = NewSlot(0);
    kernel_.specials.emplace_back(slot, meaning);
    return names_[name] = slot;
  }
  uint64_t number = 0;
  if (ParseNumber(name, &number)) return ConstantSlot(number);
  if (name == "WARP_SZ") return ConstantSlot(32);
  return names_[name] = VariableSlot(name);
}

void KernelBuilder::SetTarget(std::string_view label) {
  next_target_ = label;
}

bool KernelBuilder::ParameterOffset(std::string_view name, int64_t* offset) {
  const auto found = parameters_.find(std::string(name));
  if (found == parameters_.end()) return false;
  *offset = found->second;
  return true;
}

}  // namespace reenact::ptx
