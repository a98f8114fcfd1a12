#include "backend/cpu/bfloat16.h"

#include "core/error.h"

namespace dptrain::backend::cpu {
namespace {

/// Every instruction of `part` is one of `isa`: oneDNN's numbers have a bit for each.
bool has(dnnl::cpu_isa isa, dnnl::cpu_isa part) {
  const auto bits = [](dnnl::cpu_isa one) { return static_cast<unsigned>(one); };
  return (bits(isa) & bits(part)) == bits(part);
}

}  // namespace

Bfloat16 bfloat16_of(dnnl::cpu_isa isa) {
  if (has(isa, dnnl::cpu_isa::avx512_core_amx)) return Bfloat16::kAmx;
  return has(isa, dnnl::cpu_isa::avx512_core_bf16) ? Bfloat16::kAvx512 : Bfloat16::kNone;
}

Bfloat16 bfloat16_here() { return bfloat16_of(dnnl::get_effective_cpu_isa()); }

const char* name_of(Bfloat16 instructions) {
  switch (instructions) {
    case Bfloat16::kNone: return "none";
    case Bfloat16::kAvx512: return "AVX-512 BF16";
    case Bfloat16::kAmx: return "AMX";
  }
  return "";
}

void require_bfloat16(Bfloat16 instructions) {
  if (instructions == Bfloat16::kNone)
    throw Error(ErrorKind::kDevice,
                "cpu cannot run train.dtype_policy mixed_bfloat16: it takes AMX or AVX-512 BF16, which this processor "
                "does not have or ONEDNN_MAX_CPU_ISA takes away; use float32, or a GPU");
}

}  // namespace dptrain::backend::cpu
