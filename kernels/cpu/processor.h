#pragma once

// The kind of processor, for rules that were measured on one kind and not on another. Any thread.

#include <cstdint>

namespace dptrain::kernels::cpu {

struct Processor {
  enum class Vendor { kIntel, kOther };

  Vendor vendor = Vendor::kOther;
  /// AVX-512 with FP16, and kernels may use AVX-512: Intel's Sapphire Rapids and later.
  bool avx512_fp16 = false;
  /// Kernels use vectors of eight floats: AVX2, regardless of what else the processor supports.
  bool avx2 = false;
};

/// The processor of this machine. With limit_isa() below AVX-512 the result depends only on the instruction set.
Processor this_processor();

/// Bytes of the largest output of a first layer that the next layer still finds in a cache; larger ones use
/// non-temporal stores. 1/24 of the last-level cache, 10 to 20 MiB. With 480 MB of it, 20 MiB makes a step of
/// configs/bench/cifar_towers.yaml (19 MB) 1.05 times as fast on one thread, no slower on two replicas.
int64_t bytes_found_in_caches();

}  // namespace dptrain::kernels::cpu
