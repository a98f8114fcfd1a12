#pragma once

// Which kind of processor computes, as far as rules that were measured on one kind and not on another tell them apart.
// Any thread.

#include <cstdint>

namespace dptrain::kernels::cpu {

struct Processor {
  enum class Vendor { kIntel, kOther };

  Vendor vendor = Vendor::kOther;
  /// AVX-512 with half floats, and kernels may use AVX-512: of Intel, Sapphire Rapids and what followed.
  bool avx512_fp16 = false;
  /// Kernels use vectors of eight floats: AVX2, whatever else the processor has.
  bool avx2 = false;
};

/// Of this machine. Kernels that limit_isa() keeps to less than AVX-512 have the same answer on every processor with
/// what they are kept to.
Processor this_processor();

/// The largest output of a first layer that the next one still finds in a cache, in bytes; a larger one is written past
/// the caches, which saves reading each line before it is overwritten. 10 MiB; 20 where the last cache is so large that
/// other cores leave room in it: with 480 MB of it a step of configs/bench/cifar_towers.yaml (19 MB) is 1.05 times as
/// fast so on one thread, and as fast as before on two replicas; 11 MB 1.01 times, 25 MB no faster.
int64_t bytes_found_in_caches();

}  // namespace dptrain::kernels::cpu
