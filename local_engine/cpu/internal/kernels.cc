// Compiled once per instruction set, with REENACT_KERNELS_<isa> defined and that set's flags. All
// code is in unnamed namespaces: nothing here can be mistaken for a baseline function.

#include "local_engine/cpu/internal/attention_kernel.h"
#include "local_engine/cpu/internal/float_product.h"
#include "local_engine/cpu/internal/fma_probe.h"
#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/internal/quantised_product.h"
#include "local_engine/cpu/internal/row_operations.h"

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
          .max_byte_rows = kByteRows,
          .multiply_q8 = MultiplyQ8,
          .multiply_w8a8 = MultiplyW8A8,
          .quantise = Quantise,
          .pack_q8 = PackQ8,
          .pack_w8a8 = PackW8A8,
          .attend_f32 = Attend<F32Cache>,
          .attend_f16 = Attend<F16Cache>,
          .attend_bf16 = Attend<Bf16Cache>,
          .rms_norm = RmsNormRow,
          .rotate = RotateHead,
          .silu_mul = SiluMulRow,
          .add = AddRow,
          .round_f16 = RoundRowToF16,
          .round_bf16 = RoundRowToBf16,
          .is_finite = RowIsFinite,
          .largest = LargestOf,
          .sum_of_exp_chunk = SumOfExpChunk,
          .fma_probe = FmaProbe,
          .fma_probe_flops = kProbeFlops,
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
