// A kernel whose threads read shared memory written by other threads, and a flat one whose threads write distinct
// addresses. DPTRAIN_PLANT_RACE removes the barrier and makes two threads share addresses. Exits with 0 if the results
// are right or, with the races, always.

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
  int in[64], out[64];
  for (int i = 0; i < 64; ++i) in[i] = i;
  DPTRAIN_LAUNCH(Launch{}, reverse, 1, 64, in, out);
  for (int i = 0; i < 2; ++i) DPTRAIN_LAUNCH_FLAT(Launch{}, overlap, 1, 64, out);
#ifndef DPTRAIN_PLANT_RACE
  for (int i = 0; i < 64; ++i) {
    if (out[i] != 63 - i + 2 * i) return 1;
  }
#endif
  std::puts("ran");
  return 0;
}
