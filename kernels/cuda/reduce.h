#pragma once

// Reductions over a block of whole warps, in an order that depends only on its size. All threads must call them.

#include "kernels/cuda/launch.h"

#if DPTRAIN_GPU_NAMED(DPTRAIN_BACKEND) || defined(__CUDACC__)

namespace dptrain::kernels::DPTRAIN_BACKEND {

inline constexpr unsigned kFullMask = 0xFFFFFFFFU;

template <class T>
struct Sum {
  __device__ T operator()(T a, T b) const { return a + b; }
};
/// NaN propagates, as in a sum.
struct Max {
  __device__ float operator()(float a, float b) const { return a != a || a > b ? a : b; }
};

/// `op` must be commutative, so that all lanes get the same bits.
template <class T, class Op>
__device__ T warp_reduce(T value, Op op) {
  for (int bits = warpSize / 2; bits > 0; bits /= 2) value = op(value, __shfl_xor_sync(kFullMask, value, bits));
  return value;
}

template <class T, class Op>
__device__ T block_reduce(T value, Op op) {
  __shared__ T parts[32];
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned warps = blockDim.x * blockDim.y * blockDim.z / warpSize;
  value = warp_reduce(value, op);
  if (thread % warpSize == 0) parts[thread / warpSize] = value;
  __syncthreads();
  value = parts[0];
  for (unsigned warp = 1; warp < warps; ++warp) value = op(value, parts[warp]);
  __syncthreads();  // the next call overwrites `parts`
  return value;
}

template <class T>
__device__ T warp_sum(T value) {
  return warp_reduce(value, Sum<T>{});
}
__device__ inline float warp_max(float value) { return warp_reduce(value, Max{}); }
template <class T>
__device__ T block_sum(T value) {
  return block_reduce(value, Sum<T>{});
}
__device__ inline float block_max(float value) { return block_reduce(value, Max{}); }

}  // namespace dptrain::kernels::DPTRAIN_BACKEND

#endif
