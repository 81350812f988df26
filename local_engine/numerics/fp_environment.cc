#include "local_engine/numerics/fp_environment.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/status.h"

namespace reenact::local_engine {
namespace {

#if defined(__SSE2__)
constexpr const char* kRegister = "MXCSR";
constexpr uint64_t kRoundingBits = 0x6000;
constexpr uint64_t kFlushToZero = 0x8000;
constexpr uint64_t kDenormalsAreZero = 0x0040;
constexpr uint64_t kDefault = 0x1f80;  // All exceptions masked.

uint64_t ReadControl() {
  return _mm_getcsr();
}

void WriteControl(uint64_t value) {
  _mm_setcsr(static_cast<unsigned>(value));
}
#elif defined(__aarch64__)
constexpr const char* kRegister = "FPCR";
constexpr uint64_t kRoundingBits = uint64_t{3} << 22;
constexpr uint64_t kFlushToZero = (uint64_t{1} << 24) | (uint64_t{1} << 19);  // FZ, FZ16
constexpr uint64_t kDenormalsAreZero = 1;                                     // FIZ
constexpr uint64_t kDefault = 0;

uint64_t ReadControl() {
  uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}

void WriteControl(uint64_t value) {
  asm volatile("msr fpcr, %0" : : "r"(value));
}
#else
#error "profile n1 needs a processor whose floating-point mode can be read"
#endif

}  // namespace

void SetFloatingPointEnvironment() {
  WriteControl(kDefault);
}

absl::Status CheckFloatingPointEnvironment() {
  const uint64_t control = ReadControl();
  std::string wrong;
  if (control & kRoundingBits) wrong += " rounding is not to nearest even;";
  if (control & kFlushToZero) wrong += " subnormal results are flushed to zero;";
  if (control & kDenormalsAreZero) wrong += " subnormal operands are read as zero;";
  if (wrong.empty()) return absl::OkStatus();
  char value[32];
  std::snprintf(value, sizeof(value), "0x%llx", static_cast<unsigned long long>(control));
  return absl::FailedPreconditionError("floating-point mode of this thread:" + wrong + " " +
                                       kRegister + " is " + value);
}

}  // namespace reenact::local_engine
