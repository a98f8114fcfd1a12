// A kernel whose threads read shared memory written by other threads, one whose lanes read what lane 0 overwrites, and
// a flat one whose threads write distinct addresses. DPTRAIN_PLANT_RACE removes the barriers, so that only a shuffle
// separates the lanes, and makes two threads share addresses. Exits with 0 if the results are right or, with the races,
// always.

#include <cstdio>

#include "kernels/cuda/launch.h"

namespace dptrain::kernels::emu {

__global__ void reverse(const int* in, int* out) {
  __shared__ int kept[64];
  kept[threadIdx.x] = in[threadIdx.x];
#ifndef DPTRAIN_PLANT_RACE
  __syncthreads();
#endif
  out[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}

/// total += the sum of the lanes' numbers.
__global__ void accumulate(int* total) {
  const int before = *total;
  int sum = static_cast<int>(threadIdx.x);
  for (int bits = warpSize / 2; bits > 0; bits /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, bits);
#ifndef DPTRAIN_PLANT_RACE
  __syncwarp();
#endif
  if (threadIdx.x == 0) *total = before + sum;
}

__global__ void overlap(int* out) {
#ifdef DPTRAIN_PLANT_RACE
  out[threadIdx.x / 2] = static_cast<int>(threadIdx.x);
#else
  out[threadIdx.x] += static_cast<int>(threadIdx.x);
#endif
}

}  // namespace dptrain::kernels::emu

int main() {
  using namespace dptrain::kernels::emu;
  int in[64], out[64], total = 5;
  for (int i = 0; i < 64; ++i) in[i] = i;
  DPTRAIN_LAUNCH(Launch{}, reverse, 1, 64, in, out);
  DPTRAIN_LAUNCH(Launch{}, accumulate, 1, 32, &total);
  for (int i = 0; i < 2; ++i) DPTRAIN_LAUNCH_FLAT(Launch{}, overlap, 1, 64, out);
#ifndef DPTRAIN_PLANT_RACE
  for (int i = 0; i < 64; ++i) {
    if (out[i] != 63 - i + 2 * i) return 1;
  }
  if (total != 5 + 31 * 16) return 1;
#endif
  std::puts("ran");
  return 0;
}
