// A kernel in which every thread reads what another one has written to shared memory; with DPTRAIN_PLANT_RACE without
// the barrier in between. Exits with 0 if the sum is right or, with the race, whatever it is.

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

}  // namespace dptrain::kernels::emu

int main() {
  using namespace dptrain::kernels::emu;
  int in[64], out[64];
  for (int i = 0; i < 64; ++i) in[i] = i;
  DPTRAIN_LAUNCH(Launch{}, reverse, 1, 64, in, out);
#ifndef DPTRAIN_PLANT_RACE
  for (int i = 0; i < 64; ++i) {
    if (out[i] != 63 - i) return 1;
  }
#endif
  std::puts("ran");
  return 0;
}
