// Kernels that break the contract of profile n1, each in one way, for a census that has to find
// them; and two that keep it.

#include <mma.h>

__global__ void ApproximateDivision(float* x) {
  x[threadIdx.x] = __fdividef(x[threadIdx.x], x[32]);
}

__global__ void ApproximateExponential(float* x) {
  x[threadIdx.x] = __expf(x[threadIdx.x]);
}

__global__ void FlushedSubnormals(float* x) {
  float sum;
  asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(sum) : "f"(x[threadIdx.x]), "f"(x[32]));
  x[threadIdx.x] = sum;
}

__global__ void RoundedDown(float* x) {
  x[threadIdx.x] = __fadd_rd(x[threadIdx.x], x[32]);
}

__global__ void FloatMaximum(float* x) {
  x[threadIdx.x] = fmaxf(x[threadIdx.x], x[32]);
}

__global__ void FloatAtomic(float* x) {
  atomicAdd(x, x[threadIdx.x + 1]);
}

__global__ void FloatAtomicInSharedMemory(float* x) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, x[threadIdx.x + 1]);
  __syncthreads();
  x[0] = sum;
}

__global__ void FloatMatrices(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> left;
  fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major> right;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  load_matrix_sync(left, a, 16);
  load_matrix_sync(right, b, 16);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(c, sum, 16, mem_row_major);
}

__global__ void Doubles(double* x) {
  x[threadIdx.x] = x[threadIdx.x] * x[32] + x[33];
}

__global__ void IndexedArray(float* x, int n) {
  float values[64];
  for (int i = 0; i < 64; ++i) values[i] = x[i];
  for (int i = 0; i < n; ++i) x[i] = values[(i * 7 + n) % 64];
}

__global__ void IeeeDivision(float* x) {
  x[threadIdx.x] = __fdiv_rn(x[threadIdx.x], x[32]);
}

__global__ void IntegerAtomic(int* x) {
  atomicMin(x, x[threadIdx.x + 1]);
}
