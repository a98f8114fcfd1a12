#pragma once

// Sources of this folder are compiled once for each backend: DPTRAIN_BACKEND is its name and its namespace (cpu, cuda
// or emu). They include kernels by
//
//   #include DPTRAIN_KERNELS(pool.h)   // kernels/cpu/pool.h or, for cuda and emu, kernels/cuda/pool.h
//
// and call them as kernel::max_pool_forward(launch(a), type_, ...) (kernel_op.h).

#include <cstddef>
#include <type_traits>

#include "backend/device.h"

// clang-format off
#define DPTRAIN_IS_CPU_cpu 1
#define DPTRAIN_IS_CPU_cuda 0
#define DPTRAIN_IS_CPU_emu 0
#define DPTRAIN_KERNELS_OF_cpu cpu
#define DPTRAIN_KERNELS_OF_cuda cuda
#define DPTRAIN_KERNELS_OF_emu cuda
#define DPTRAIN_KIND_OF_cpu kCpu
#define DPTRAIN_KIND_OF_cuda kCuda
#define DPTRAIN_KIND_OF_emu kEmu

#define DPTRAIN_PASTE(a, b) a##b
#define DPTRAIN_LOOK_UP(table, backend) DPTRAIN_PASTE(table, backend)
#define DPTRAIN_QUOTE(path) #path
#define DPTRAIN_QUOTE_EXPANDED(path) DPTRAIN_QUOTE(path)

#define DPTRAIN_IS_CPU DPTRAIN_LOOK_UP(DPTRAIN_IS_CPU_, DPTRAIN_BACKEND)
#define DPTRAIN_KERNELS(header) DPTRAIN_QUOTE_EXPANDED(kernels/DPTRAIN_LOOK_UP(DPTRAIN_KERNELS_OF_, DPTRAIN_BACKEND)/header)
// clang-format on

#include DPTRAIN_KERNELS(launch.h)

namespace dptrain::backend::DPTRAIN_BACKEND {

namespace kernel = ::dptrain::kernels::DPTRAIN_BACKEND;

inline constexpr DeviceKind kKind = DeviceKind::DPTRAIN_LOOK_UP(DPTRAIN_KIND_OF_, DPTRAIN_BACKEND);
inline constexpr bool kIsCpu = kKind == DeviceKind::kCpu;

/// Activations as kernels take them: `float` on CPUs; `void` on GPUs, where a DType argument names their type.
using Element = std::conditional_t<kIsCpu, float, void>;
/// Activations at an address that was computed in bytes.
inline Element* elements(std::byte* address) { return static_cast<Element*>(static_cast<void*>(address)); }

}  // namespace dptrain::backend::DPTRAIN_BACKEND
