// Compiled once per instruction set, with REENACT_KERNELS_<isa> defined and that set's flags. All
// code is in unnamed namespaces: nothing here can be mistaken for a baseline function.

#include "local_engine/cpu/internal/float_product.h"
#include "local_engine/cpu/internal/kernel_table.h"

namespace reenact::local_engine {
namespace {

constexpr KernelTable MakeTable(const char* name) {
  return {.name = name,
          .max_tile_rows = kTileRows,
          .multiply_f32 = MultiplyTile<F32Weights>,
          .multiply_f16 = MultiplyTile<F16Weights>,
          .multiply_bf16 = MultiplyTile<Bf16Weights>,
          .in_place_f32 = MultiplyRowsInPlace<F32Weights>,
          .in_place_f16 = MultiplyRowsInPlace<F16Weights>,
          .in_place_bf16 = MultiplyRowsInPlace<Bf16Weights>,
          .pack_x = PackX,
          .pack_lanes = PackLanes};
}

#if defined(REENACT_KERNELS_avx512)
constexpr KernelTable kTable = MakeTable("avx512");
#elif defined(REENACT_KERNELS_avx2)
constexpr KernelTable kTable = MakeTable("avx2");
#elif defined(REENACT_KERNELS_plain_fma)
constexpr KernelTable kTable = MakeTable("plain_fma");
#elif defined(REENACT_KERNELS_neon)
constexpr KernelTable kTable = MakeTable("neon");
#else
constexpr KernelTable kTable = MakeTable("plain");
#endif

}  // namespace

#if defined(REENACT_KERNELS_avx512)
const KernelTable& KernelsAvx512() {
#elif defined(REENACT_KERNELS_avx2)
const KernelTable& KernelsAvx2() {
#elif defined(REENACT_KERNELS_plain_fma)
const KernelTable& KernelsPlainFma() {
#elif defined(REENACT_KERNELS_neon)
const KernelTable& KernelsNeon() {
#else
const KernelTable& KernelsPlain() {
#endif
  return kTable;
}

}  // namespace reenact::local_engine
