// The backends that the engine's tests run on. ../cuda compiles the same tests once more, for the
// kernels of cuda/.

#ifndef REENACT_TESTS_LOCAL_ENGINE_ENGINE_TESTED_BACKENDS_H_
#define REENACT_TESTS_LOCAL_ENGINE_ENGINE_TESTED_BACKENDS_H_

#include <string>

#include "gtest/gtest.h"

#include "local_engine/engine.h"

namespace reenact::local_engine {

#if defined(REENACT_TEST_CUDA)
inline constexpr BackendKind kTestedBackends[] = {BackendKind::kCuda};
#else
inline constexpr BackendKind kTestedBackends[] = {BackendKind::kCpu, BackendKind::kReference};
#endif

inline std::string BackendName(const ::testing::TestParamInfo<BackendKind>& kind) {
  return kind.param == BackendKind::kCpu    ? "Cpu"
         : kind.param == BackendKind::kCuda ? "Cuda"
                                            : "Reference";
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_ENGINE_TESTED_BACKENDS_H_
