#include "tests/local_engine/cuda/census/opcode_census.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reenact::device_code {
namespace {

constexpr size_t kInstructionBytes = 16;
constexpr uint16_t kOpcodeMask = 0x1ff;
constexpr uint64_t kZeroRegister = 0xff;

// Floats.
constexpr uint16_t kMultiply = 0x020;
constexpr uint16_t kAdd = 0x021;
constexpr uint16_t kFma = 0x023;
constexpr uint16_t kMaximum = 0x009;        // FMNMX
constexpr uint16_t kAddHalves = 0x030;      // HADD2
constexpr uint16_t kApproximation = 0x108;  // MUFU: reciprocal, root, exponential, logarithm, sine.

constexpr uint16_t kLoadLocal = 0x183;
constexpr uint16_t kStoreLocal = 0x187;

// Integers, bits, moves, branches, memory, and exact exchanges.
constexpr uint16_t kAllowed[] = {
    0x002,  // MOV
    0x003,  // P2R
    0x004,  // R2P
    0x005,  // CS2R: a special register, or zero, into two registers
    0x006,  // VOTE
    0x007,  // SEL
    0x008,  // FSEL
    kMaximum,
    0x00a,  // FSET
    0x00b,  // FSETP
    0x00c,  // ISETP
    0x010,  // IADD3
    0x011,  // LEA
    0x012,  // LOP3
    0x013,  // IABS
    0x016,  // PRMT
    0x017,  // IMNMX
    0x019,  // SHF
    0x01a,  // BMSK
    0x01b,  // SGXT
    0x01c,  // PLOP3
    kMultiply,   kAdd, kFma,
    0x024,  // IMAD
    0x025,  // IMAD.WIDE
    0x026,  // IDP: products of bytes
    0x027,  // IMAD.HI
    kAddHalves,
    0x035,  // HFMA2, by which the assembler moves constants
    0x036,  // VIADD
    0x037,  // IMMA: matrices of bytes
    0x045,  // I2FP, rounded to nearest
    0x046,  // VIADDMNMX
    0x048,  // VIMNMX
    0x082,  // UMOV
    0x083,  // UP2UR
    0x086,  // VOTEU
    0x087,  // USEL
    0x08c,  // UISETP
    0x090,  // UIADD3
    0x091,  // ULEA
    0x092,  // ULOP3
    0x096,  // UPRMT
    0x099,  // USHF
    0x09c,  // UPLOP3
    0x0a4,  // UIMAD
    0x0a5,  // UIMAD.WIDE
    0x0b9,  // ULDC
    0x0bb,  // Of uniform predicates
    0x0bd,  // UFLO
    0x0c2,  // R2UR
    0x0ca,  // R2UR
    0x100,  // FLO
    0x102,  // FCHK: whether a division needs its long form
    0x105,  // F2I
    0x106,  // I2F
    0x107,  // POPC
    0x109,  // POPC
    0x111,  // F2I of 64 bits
    0x112,  // I2F of 64 bits
    0x118,  // NOP
    0x119,  // S2R
    0x11a,  // DEPBAR
    0x11b,  // ENDCOLLECTIVE
    0x11d,  // BAR
    0x120,  // ERRBAR
    0x128,  // MEMBAR
    0x13b,  // LDSM
    0x13c,  // CCTL
    0x141,  // BSYNC
    0x142,  // BREAK
    0x143,  // CALL
    0x144,  // CALL
    0x145,  // BSSY
    0x147,  // BRA
    0x148,  // WARPSYNC
    0x149,  // BRX
    0x14d,  // EXIT
    0x150,  // RET
    0x180,  // LD
    0x181,  // LDG
    0x182,  // LDC
    kLoadLocal,
    0x184,  // LDS
    0x185,  // ST
    0x186,  // STG
    kStoreLocal,
    0x188,  // STS
    0x189,  // SHFL
    0x18c,  // ATOMS, of integers
    0x18e,  // REDG, of integers
    0x1a1,  // LDGDEPBAR
    0x1a8,  // ATOMG, of integers
    0x1ae,  // LDGSTS: a copy to shared memory
    0x1af,  // LDGDEPBAR
    0x1c3,  // S2UR
    0x1c4,  // UFLO or REDUX, of integers
};

struct Refused {
  uint16_t opcode;
  const char* what;
};

constexpr Refused kRefused[] = {
    {0x028, "DMUL"},
    {0x029, "DADD"},
    {0x02b, "DFMA"},
    {0x032, "HMUL2, arithmetic of 16 bits"},
    {0x03c, "HMMA, float matrices"},
    {0x18d, "ATOMS.CAS, by which floats are added in any order"},
    {0x1a3, "ATOMG of floats"},
    {0x1a6, "REDG of floats"},
};

template <typename T>
T At(std::string_view bytes, size_t offset) {
  T value = {};
  if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The fields of an ELF section's header that matter here.
struct Section {
  std::string_view name;
  std::string_view bytes;
};

std::vector<Section> Sections(std::string_view file) {
  const auto headers = static_cast<size_t>(At<uint64_t>(file, 40));
  const size_t header_bytes = At<uint16_t>(file, 58);
  const size_t count = At<uint16_t>(file, 60);
  const size_t names_index = At<uint16_t>(file, 62);
  const auto header = [&](size_t index) { return headers + index * header_bytes; };
  const size_t names = static_cast<size_t>(At<uint64_t>(file, header(names_index) + 24));
  std::vector<Section> sections;
  for (size_t i = 0; i < count; ++i) {
    const size_t name_at = names + At<uint32_t>(file, header(i));
    const size_t begin = static_cast<size_t>(At<uint64_t>(file, header(i) + 24));
    const size_t size = static_cast<size_t>(At<uint64_t>(file, header(i) + 32));
    if (name_at >= file.size() || begin > file.size()) return {};
    const std::string_view name = file.substr(name_at);
    sections.push_back({name.substr(0, name.find('\0')), file.substr(begin, size)});
  }
  return sections;
}

void Count(std::string_view code, KernelCensus* kernel) {
  for (size_t at = 0; at + kInstructionBytes <= code.size(); at += kInstructionBytes) {
    const auto opcode = static_cast<uint16_t>(At<uint64_t>(code, at) & kOpcodeMask);
    ++kernel->opcodes[opcode];
    const auto low = At<uint64_t>(code, at);
    const bool of_zero =
        ((low >> 24) & 0xff) == kZeroRegister || ((low >> 32) & 0xff) == kZeroRegister;
    kernel->maxima += opcode == kMaximum && !of_zero;
    if (opcode != kMultiply && opcode != kAdd && opcode != kFma) continue;
    const auto high = At<uint64_t>(code, at + 8);
    kernel->flushing += static_cast<int>((high >> 16) & 1);
    kernel->other_rounding += ((high >> 14) & 3) != 0;
  }
}

// "7 of MUFU, where 0 have a reason"; empty when there are not too many.
std::string TooMany(const char* what, int count, int allowed) {
  if (count <= allowed) return "";
  return std::to_string(count) + " of " + what + ", where " + std::to_string(allowed) +
         " have a reason";
}

}  // namespace

int KernelCensus::CountOf(uint16_t opcode) const {
  const auto found = opcodes.find(opcode);
  return found == opcodes.end() ? 0 : found->second;
}

int KernelCensus::LocalAccesses() const {
  return CountOf(kLoadLocal) + CountOf(kStoreLocal);
}

absl::StatusOr<std::vector<KernelCensus>> TakeCensus(std::string_view cubin) {
  constexpr std::string_view kText = ".text.";
  std::vector<KernelCensus> kernels;
  for (const Section& section : Sections(cubin)) {
    if (section.name.substr(0, kText.size()) != kText) continue;
    KernelCensus kernel;
    kernel.name = section.name.substr(kText.size());
    kernel.architecture = static_cast<int>((At<uint32_t>(cubin, 48) >> 8) & 0xff);
    Count(section.bytes, &kernel);
    kernels.push_back(kernel);
  }
  if (kernels.empty()) return absl::InvalidArgumentError("no kernel in what should be a cubin");
  return kernels;
}

std::vector<std::string> Objections(const KernelCensus& kernel, const Reasons& reasons) {
  // What one division or root makes, its long form for unusual operands included.
  constexpr int kApproximations = 3;
  constexpr int kFlushing = 8;
  constexpr int kOtherRounding = 3;
  constexpr int kAdditions = 1;
  std::vector<std::string> objections = {
      TooMany("MUFU", kernel.CountOf(kApproximation), kApproximations * reasons.quotients),
      TooMany("float operations that flush subnormals", kernel.flushing,
              kFlushing * reasons.quotients),
      TooMany("float operations that round otherwise", kernel.other_rounding,
              kOtherRounding * reasons.quotients),
      TooMany("HADD2, additions of 16 bits", kernel.CountOf(kAddHalves),
              kAdditions * reasons.widenings),
      TooMany("FMNMX, maxima that are no select", kernel.maxima, 0)};
  for (const auto& [opcode, count] : kernel.opcodes) {
    if (opcode == kApproximation) continue;
    if (std::find(std::begin(kAllowed), std::end(kAllowed), opcode) != std::end(kAllowed)) continue;
    char number[8];
    std::snprintf(number, sizeof(number), "0x%03x", opcode);
    std::string what = std::string("an opcode that nobody has looked at, ") + number;
    for (const Refused& refused : kRefused) {
      if (refused.opcode == opcode) what = refused.what;
    }
    objections.push_back(what);
  }
  objections.erase(std::remove(objections.begin(), objections.end(), ""), objections.end());
  return objections;
}

}  // namespace reenact::device_code
