// All that the golden hashes of kernels depend on but the kernels, as one translation unit. It is
// compiled once by each compiler, whatever the kernels are compiled for; those are in
// golden_kernels_under_test.cc.

#include "local_engine/numerics/pow_sincos.cc"
#include "local_engine/numerics/sha256.cc"
#include "local_engine/numerics/sha256_blocks.cc"
#include "local_engine/reference/sampler.cc"
#include "tests/local_engine/cpu/golden_kernels.cc"
#include "tests/local_engine/cpu/rope_tables.cc"
#include "tests/local_engine/reference/golden_operations.cc"

#define main CompareGoldenOperations
#include "tests/local_engine/reference/golden_main.cc"
#undef main
