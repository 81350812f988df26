#include "tests/local_engine/cuda/ptx/program.h"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace reenact::ptx {
namespace {

constexpr std::pair<std::string_view, Type> kTypes[] = {
    {"pred", Type::kPred}, {"b8", Type::kB8},   {"u8", Type::kU8},   {"s8", Type::kS8},
    {"b16", Type::kB16},   {"u16", Type::kU16}, {"s16", Type::kS16}, {"f16", Type::kF16},
    {"bf16", Type::kBf16}, {"b32", Type::kB32}, {"u32", Type::kU32}, {"s32", Type::kS32},
    {"f32", Type::kF32},   {"b64", Type::kB64}, {"u64", Type::kU64}, {"s64", Type::kS64},
    {"f64", Type::kF64}};

std::string Demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

// "void a::b<4>(int)" with "b", or "b<4>".
bool IsCalled(const std::string& demangled, std::string_view name) {
  const size_t at = demangled.find(name);
  if (at == std::string::npos) return false;
  const size_t end = at + name.size();
  const bool begins = at == 0 || demangled[at - 1] == ':' || demangled[at - 1] == ' ';
  const bool ends = end == demangled.size() || demangled[end] == '(' || demangled[end] == '<';
  return begins && ends;
}

}  // namespace

Type TypeNamed(std::string_view name) {
  for (const auto& [text, type] : kTypes) {
    if (text == name) return type;
  }
  return Type::kNone;
}

int SizeBytes(Type type) {
  if (type >= Type::kB64) return 8;
  if (type >= Type::kB32) return 4;
  if (type >= Type::kB16) return 2;
  return 1;
}

bool IsSigned(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64;
}

bool IsFloat(Type type) {
  return type == Type::kF16 || type == Type::kBf16 || type == Type::kF32 || type == Type::kF64;
}

const Kernel* Module::Find(std::string_view name) const {
  const Kernel* found = nullptr;
  for (const auto& [mangled, kernel] : kernels) {
    if (mangled == name) return &kernel;
    if (!IsCalled(Demangled(mangled), name)) continue;
    if (found != nullptr) return nullptr;
    found = &kernel;
  }
  return found;
}

}  // namespace reenact::ptx
