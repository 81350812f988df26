// All that the golden hashes depend on, as one translation unit, for builds with other compilers
// and flags than the product's.

#include "local_engine/numerics/pow_sincos.cc"
#include "local_engine/numerics/sha256.cc"
#include "local_engine/numerics/sha256_blocks.cc"
#include "local_engine/reference/attention.cc"
#include "local_engine/reference/dot.cc"
#include "local_engine/reference/logprob.cc"
#include "local_engine/reference/quantised_dot.cc"
#include "local_engine/reference/rms_norm.cc"
#include "local_engine/reference/rope.cc"
#include "local_engine/reference/sampler.cc"
#include "local_engine/reference/silu_mul.cc"
#include "tests/local_engine/reference/golden_main.cc"
#include "tests/local_engine/reference/golden_operations.cc"
