// The kernels of one instruction set and all that their golden hashes depend on, as one translation
// unit: for other compilers, flags and processors than the product's. REENACT_KERNELS_<isa> says
// which.

#include "local_engine/cpu/internal/kernels.cc"
#include "local_engine/cpu/internal/pack_panel.cc"
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

int main(int argc, char** argv) {
  using namespace reenact::local_engine;  // NOLINT: the end of a program.
  golden_kernels = &kTable;
  return CompareGoldenOperations(argc, argv);
}
