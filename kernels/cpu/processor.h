#pragma once

// Which kind of processor computes, as far as rules that were measured on one kind and not on another tell them apart.
// Any thread.

namespace dptrain::kernels::cpu {

struct Processor {
  enum class Vendor { kIntel, kOther };

  Vendor vendor = Vendor::kOther;
  /// AVX-512 with half floats, and kernels may use AVX-512: of Intel, Sapphire Rapids and what followed.
  bool avx512_fp16 = false;
};

/// Of this machine. Kernels that limit_isa() keeps to less than AVX-512 have the same answer on every processor with
/// what they are kept to.
Processor this_processor();

}  // namespace dptrain::kernels::cpu
