// The kernels of one instruction set, with the main program that has them compared: for other
// compilers, flags and processors than the product's. REENACT_KERNELS_<isa> says which.

#include "local_engine/cpu/internal/kernels.cc"
#include "local_engine/cpu/internal/pack_panel.cc"
#include "tests/local_engine/cpu/golden_kernels.h"
#include "tests/local_engine/reference/runs_here.h"

int CompareGoldenOperations(int argc, char** argv);  // golden_kernels_comparison.cc

int main(int argc, char** argv) {
  using namespace reenact::local_engine;  // NOLINT: the end of a program.
  if (!RunsHere()) return 77;
  golden_kernels = &kTable;
  return CompareGoldenOperations(argc, argv);
}
