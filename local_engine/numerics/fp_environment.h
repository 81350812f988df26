// The processor's floating-point mode. Another library in the process can have changed it: an
// object built with -ffast-math sets flush-to-zero when it is loaded. Every thread that computes
// calls SetFloatingPointEnvironment on entry and fails closed if that does not hold.

#ifndef REENACT_LOCAL_ENGINE_NUMERICS_FP_ENVIRONMENT_H_
#define REENACT_LOCAL_ENGINE_NUMERICS_FP_ENVIRONMENT_H_

#include "absl/status/status.h"

namespace reenact::local_engine {

// Rounds to nearest even, keeps subnormals in and out, masks exceptions; the calling thread only.
void SetFloatingPointEnvironment();

// FailedPrecondition names the mode that is wrong (rounding, flush-to-zero, denormals-are-zero) and
// the register's value. The calling thread only.
absl::Status CheckFloatingPointEnvironment();

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_NUMERICS_FP_ENVIRONMENT_H_
