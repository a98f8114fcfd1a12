#pragma once

// Passes over ranges of an arena, four floats at a time if addresses allow. Only for .cu files. A pass is a struct with
//
//   __device__ bool begin()                         reads the step's state; false: nothing to do
//   template <int V> __device__ void run(int64 i)   processes elements [i, i + V)

#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

inline constexpr int kFour = 4;

template <class Pass>
__global__ void flat_kernel(Pass pass, std::int64_t vectors, std::int64_t n) {
  if (!pass.begin()) return;
  for (std::int64_t i = thread_number(); i < vectors; i += thread_count()) pass.template run<kFour>(i * kFour);
  for (std::int64_t i = vectors * kFour + thread_number(); i < n; i += thread_count()) pass.template run<1>(i);
}

/// Queues `pass` over [0, n). `wide`: all its arrays are aligned to 16 bytes.
template <class Pass>
void flat(const Launch& at, const Pass& pass, std::int64_t n, bool wide) {
  if (n <= 0) return;
  DPTRAIN_LAUNCH_FLAT(at, flat_kernel<Pass>, grid_for(at, n, wide ? kFour : 1), kBlock, pass, wide ? n / kFour : 0, n);
}

/// Calls pass.run<V>(i) for this thread's elements of its block's range [begin, end). `wide`: element `begin` is
/// aligned to 16 bytes in all arrays of the pass.
template <class Pass>
__device__ inline void sweep_block(std::int64_t begin, std::int64_t end, bool wide, Pass& pass) {
  const std::int64_t vectors = wide ? (end - begin) / kFour : 0, tail = begin + vectors * kFour;
  for (std::int64_t i = threadIdx.x; i < vectors; i += blockDim.x) pass.template run<kFour>(begin + i * kFour);
  for (std::int64_t i = tail + threadIdx.x; i < end; i += blockDim.x) pass.template run<1>(i);
}

/// One of `pieces` parts of a segment, for one thread block. Pieces begin at multiples of four elements.
struct Piece {
  std::int64_t begin, end;
};
__device__ inline Piece piece_of(std::int64_t offset, std::int64_t length, std::int64_t piece, std::int64_t pieces) {
  const std::int64_t size = ((length + pieces - 1) / pieces + kFour - 1) / kFour * kFour;
  const std::int64_t end = offset + length, begin = offset + piece * size;
  return {begin < end ? begin : end, begin + size < end ? begin + size : end};
}

/// As `aligned`, for one address inside a kernel.
template <class P>
__device__ inline bool at_16_bytes(const P* pointer) {
  return (reinterpret_cast<std::uintptr_t>(pointer) & 15) == 0;
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
