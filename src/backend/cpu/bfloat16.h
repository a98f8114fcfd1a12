#pragma once

// Products of bfloat16, as train.dtype_policy: mixed_bfloat16 computes them on CPUs: factors are rounded to bfloat16,
// to nearest even, sums are float32, and everything in memory stays float32. Any thread.

#include <oneapi/dnnl/dnnl.hpp>

namespace dptrain::backend::cpu {

/// The instructions by which oneDNN multiplies bfloat16.
enum class Bfloat16 { kNone, kAvx512, kAmx };

/// What an instruction set of oneDNN's has.
Bfloat16 bfloat16_of(dnnl::cpu_isa isa);
/// What this processor has and ONEDNN_MAX_CPU_ISA leaves.
Bfloat16 bfloat16_here();
/// "AMX", "AVX-512 BF16", "none".
const char* name_of(Bfloat16 instructions);

/// Throws Error{kDevice} where there are none.
void require_bfloat16(Bfloat16 instructions);

}  // namespace dptrain::backend::cpu
