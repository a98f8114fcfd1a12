#pragma once

// Macros that launch the kernels of this folder. Every .cu file here is compiled twice: by nvcc for GPUs and by the
// host's compiler for the emulator (simt.h). The build sets DPTRAIN_BACKEND, the name of the namespace, to `cuda` or
// `emu`. A host function takes a Launch first, chooses grid and block, and launches a kernel with one of these macros.
//
// - DPTRAIN_LAUNCH(at, kernel<T>, grid, block, args...): threads may use __syncthreads and warp shuffles.
// - DPTRAIN_LAUNCH_SHARED(at, kernel<T>, grid, block, bytes, args...): the same with dynamic shared memory.
// - DPTRAIN_LAUNCH_FLAT(at, kernel<T>, grid, block, args...): threads never synchronize; the emulator runs a loop.
//
// A launch is asynchronous on at.stream; on the emulator with a null stream it runs at once. A failed launch throws
// std::runtime_error naming the kernel. A kernel with two template arguments needs parentheses: (kernel<T, 4>).
// DPTRAIN_DYNAMIC_SHARED(T, name) declares the dynamic shared memory.
//
// Functions that take a Launch queue kernels and return; any thread may call them. Unless their comment states
// otherwise, pointers are device memory, and outputs are overwritten. Activations have any number type (number.h) and
// are read as float.
//
// Rules for kernels:
//
// - Use float math and at most 1024 threads per block.
// - Use only full-mask warp operations. Do not rely on implicit warp synchronization.
// - Use no float atomics. Sum in two stages in a fixed order, so that results do not depend on timing.
// - Do not spin on other blocks.
// - All threads of a block reach each __syncthreads, and all lanes of a warp each shuffle. Do not return before one.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#ifndef DPTRAIN_BACKEND
#error "DPTRAIN_BACKEND must be cuda or emu"
#endif

// 1 for the emulator, 0 for CUDA.
#define DPTRAIN_GPU_NAMED_emu 1
#define DPTRAIN_GPU_NAMED_cuda 0
#define DPTRAIN_GPU_JOIN(a, b) a##b
#define DPTRAIN_GPU_NAMED(name) DPTRAIN_GPU_JOIN(DPTRAIN_GPU_NAMED_, name)

#if DPTRAIN_GPU_NAMED(DPTRAIN_BACKEND)
#include "kernels/cuda/simt.h"
#elif defined(__CUDACC__)
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#endif

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Maximum of dynamic shared memory per block: the lowest limit of all GPUs (compute capability 8.6, 8.9 and 12.x).
inline constexpr std::int64_t kMaxSharedBytes = 99 << 10;

struct Launch {
  void* stream = nullptr;   ///< cudaStream_t, or simt::Queue* on the emulator
  int multiprocessors = 1;  ///< of the device; limits the grids of grid-stride loops
};

#if DPTRAIN_GPU_NAMED(DPTRAIN_BACKEND)
using namespace ::dptrain::simt;  // NOLINT(google-build-using-namespace): CUDA's names are global, too
#endif

inline constexpr int kBlock = 256;

/// Blocks for a grid-stride loop over n items, `per_thread` of them per thread and iteration.
inline unsigned grid_for(const Launch& at, std::int64_t n, std::int64_t per_thread = 1) {
  const std::int64_t wanted = (n + kBlock * per_thread - 1) / (kBlock * per_thread);
  return static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, std::int64_t{at.multiprocessors} * 16));
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND

#if DPTRAIN_GPU_NAMED(DPTRAIN_BACKEND)

#define DPTRAIN_START(at, flat, kernel, grid, block, bytes, ...)                                                    \
  ::dptrain::simt::launch((at).stream, ::dptrain::simt::Shape{#kernel, (grid), (block), (bytes), (flat)}, (kernel), \
                          __VA_ARGS__)
#define DPTRAIN_LAUNCH(at, kernel, grid, block, ...) DPTRAIN_START(at, false, kernel, grid, block, 0, __VA_ARGS__)
#define DPTRAIN_LAUNCH_SHARED(at, kernel, grid, block, bytes, ...) \
  DPTRAIN_START(at, false, kernel, grid, block, bytes, __VA_ARGS__)
#define DPTRAIN_LAUNCH_FLAT(at, kernel, grid, block, ...) DPTRAIN_START(at, true, kernel, grid, block, 0, __VA_ARGS__)
#define DPTRAIN_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::dptrain::simt::dynamic_shared())

#elif defined(__CUDACC__)

namespace dptrain::kernels::cuda {

inline void check_launch(cudaError_t error, const char* kernel) {
  if (error == cudaSuccess) return;
  throw std::runtime_error("kernel " + std::string(kernel) + ": " + cudaGetErrorString(error) + " (" +
                           cudaGetErrorName(error) + ")");
}

/// Kernels with more dynamic shared memory need cudaFuncSetAttribute().
inline constexpr std::size_t kPlainSharedBytes = 48 << 10;

template <class Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes, const char* name) {
  if (bytes <= kPlainSharedBytes) return;
  check_launch(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
               name);
}

}  // namespace dptrain::kernels::cuda

#define DPTRAIN_LAUNCH_SHARED(at, kernel, grid, block, bytes, ...)                               \
  do {                                                                                           \
    ::dptrain::kernels::cuda::allow_shared((kernel), (bytes), #kernel);                          \
    (kernel)<<<(grid), (block), (bytes), static_cast<cudaStream_t>((at).stream)>>>(__VA_ARGS__); \
    ::dptrain::kernels::cuda::check_launch(cudaGetLastError(), #kernel);                         \
  } while (false)
#define DPTRAIN_LAUNCH(at, kernel, grid, block, ...) DPTRAIN_LAUNCH_SHARED(at, kernel, grid, block, 0, __VA_ARGS__)
#define DPTRAIN_LAUNCH_FLAT(at, kernel, grid, block, ...) DPTRAIN_LAUNCH_SHARED(at, kernel, grid, block, 0, __VA_ARGS__)
#define DPTRAIN_DYNAMIC_SHARED(T, name)                                   \
  extern __shared__ __align__(16) unsigned char dptrain_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(dptrain_dynamic_shared)

#endif
