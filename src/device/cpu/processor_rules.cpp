#include "device/cpu/processor_rules.h"

#include <limits>

namespace dptrain::device::cpu {
namespace {

using kernels::cpu::Processor;

// Gradients of 1x1 weights, time of oneDNN 2.6.3 by time of kernels/cpu reading in place, 32 rows, one thread of an
// Intel Xeon with AVX-512 FP16 and AMX (237 GFLOP/s a core, 2 MiB of second cache):
//
//   64->64, 56x56    1.06     256->64, 56x56     0.97     1024->256 and 256->1024, 14x14   0.73  0.70
//   64->256, 56x56   1.17     128->512, 28x28    0.74     1024->512, 14x14                 0.72
//   256->128, 56x56  1.11     512->128, 28x28    0.73     2048->512 and 512->2048, 7x7     0.91  0.88
//   /2, 256->512, 56x56   0.62     512->256, 28x28    0.76     /2, 512->1024 and 1024->2048     0.65  0.74
//
// A step of Dense layers 784->512->512->10 of 512 rows is 1.03 times as fast with oneDNN's.
//
// `bench --kernels` on a core of its own puts the same shapes on the same side: 0.99 to 1.22, and 0.68 to 0.96. So up
// to 32,768 floats there; conv2d_gemm.cpp has the times of AMD's processors.
constexpr ProcessorRules kAll{"all others, by an AMD EPYC, Zen 5, 2026-11-26",
                              std::numeric_limits<std::int64_t>::max()};
constexpr ProcessorRules kIntelFp16{"Intel Xeon, AVX-512 FP16 and AMX, 2026-11-27", 32 << 10};

}  // namespace

const ProcessorRules& rules_for(const Processor& processor) {
  if (processor.vendor == Processor::Vendor::kIntel && processor.avx512_fp16) return kIntelFp16;
  return kAll;
}

}  // namespace dptrain::device::cpu
