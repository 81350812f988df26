// Whether the processor has what the file that includes this is compiled for.

#ifndef REENACT_TESTS_LOCAL_ENGINE_REFERENCE_RUNS_HERE_H_
#define REENACT_TESTS_LOCAL_ENGINE_REFERENCE_RUNS_HERE_H_

#include <cstdio>

namespace reenact::local_engine {

// Static: files of one program are compiled for different processors. Says what is missing.
static inline bool RunsHere() {
#if defined(__AVX512F__)
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vnni")) {
    std::puts("skipped: this processor has no AVX-512");
    return false;
  }
#endif
#if defined(__AVX2__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    std::puts("skipped: this processor has no AVX2");
    return false;
  }
#endif
  return true;
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_REFERENCE_RUNS_HERE_H_
