#pragma once

// Inside kernels: V adjacent elements as floats, and index arithmetic. Only for .cu files.

#include <initializer_list>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/number.h"

// Unrolls a loop, so that its arrays are in registers.
#if defined(__CUDACC__)
#define DPTRAIN_UNROLL _Pragma("unroll")
#else
#define DPTRAIN_UNROLL
#endif

namespace dptrain::kernels::DPTRAIN_BACKEND {

template <int V>
struct Lanes {
  float v[V];
};

/// V elements for accesses of at most 16 bytes, aligned to their size.
template <class T, int V>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) [[gnu::may_alias]] Raw {
  T v[V];
};

/// Maximum number of elements of T per access.
template <class T>
inline constexpr int kVector = 16 / static_cast<int>(sizeof(T));

__device__ inline float widened(std::uint8_t x) { return static_cast<float>(x); }
template <class T>
__device__ inline float widened(T x) {
  return to_float(x);
}

template <int V, class T>
__device__ inline Lanes<V> load(const T* x) {
  const Raw<T, V> raw = *reinterpret_cast<const Raw<T, V>*>(x);
  Lanes<V> lanes;
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k) lanes.v[k] = widened(raw.v[k]);
  return lanes;
}

template <int V, class T>
__device__ inline void store(const Lanes<V>& lanes, T* y) {
  Raw<T, V> raw;
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k) raw.v[k] = from_float<T>(lanes.v[k]);
  *reinterpret_cast<Raw<T, V>*>(y) = raw;
}

template <int V>
__device__ inline Lanes<V> all(float value) {
  Lanes<V> lanes;
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k) lanes.v[k] = value;
  return lanes;
}

struct Split {
  std::int64_t quotient, remainder;
};

/// index / extent for non-negative numbers, in 32 bits if possible, since GPUs divide 64-bit integers slowly.
__device__ inline Split split(std::int64_t index, std::int64_t extent) {
  if (((index | extent) >> 32) == 0) {
    const std::uint32_t i = static_cast<std::uint32_t>(index), e = static_cast<std::uint32_t>(extent);
    return {i / e, i % e};
  }
  return {index / extent, index % extent};
}

/// Index of this thread in the grid and number of threads: start and step of a grid-stride loop.
__device__ inline std::int64_t thread_number() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t thread_count() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

/// Whether all pointers are aligned to 16 bytes or null.
template <class... P>
bool aligned(const P*... pointers) {
  return (((reinterpret_cast<std::uintptr_t>(pointers) & 15) == 0) && ...);
}
inline bool aligned(std::initializer_list<const void*> pointers) {
  return std::all_of(pointers.begin(), pointers.end(), [](const void* pointer) { return aligned(pointer); });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
