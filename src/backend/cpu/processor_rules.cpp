#include "backend/cpu/processor_rules.h"

#include <limits>

namespace dptrain::backend::cpu {
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
// `bench --kernels` on a core of its own puts the same shapes on the same side: 0.99 to 1.22, and 0.68 to 0.96. So up
// to 32,768 floats there; conv2d_gemm.cpp has the times of AMD's processors. Since then gradients of more than 65,536
// weights are packed and take tiles of 14 rows, the times are those of conv2d_gemm.cpp, and the rule is: from 524,288
// on, too.
//
// AVX2: the same Xeon held to it (118 GFLOP/s a core). `bench --tune` of configs/bench names 116 passes; with the rules
// for all it keeps 103. Of the 13 others these have a rule, time of oneDNN's by time here:
//
//   forward, 3x3/2, 128 channels, 56x56  1.25     256, 28x28  1.09     512, 14x14  1.17
//   weights, 1x1, 1024->256, 14x14       1.12     256->1024   1.13
//
// The 8 others go both ways for like shapes (weights of 64->256, 128->512 and 256->512/2 0.78 to 0.89; 256->64,
// 512->128 and 512->1024/2 1.12 to 1.16), are within 0.06, or were timed without the normalisation beside them.
//
// 1x1 convolutions as products, 8 rows, time of oneDNN's fastest way by time here, the Xeon with AVX-512 and held to
// AVX2:
//
//                         forward        gradient of x                           forward        gradient of x
//   64->64, 56x56      0.88  0.89      0.86  0.90         256->1024, 14x14    1.02  0.96      0.95  0.95
//   256->64, 56x56     1.00  1.14      1.05  0.93         1024->256           0.99  0.90      0.97  1.00
//   64->256            0.97  0.96      1.15  1.14         1024->512           1.00  0.94      1.20  1.00
//   256->128           1.04  1.12      1.13  1.06         512->2048, 7x7      1.08  1.06      1.69  1.01
//   128->512, 28x28    1.03  0.94      0.92  0.96         2048->512           1.04  1.09      1.84  1.15
//   512->128           0.94  1.11      1.01  0.96         512->256, 28x28     0.99  1.07      1.02  1.00
//
// (of the gradient, where oneDNN's way is not turned; turned it takes up to 0.6 of that at 7x7.) In a network operands
// come from farther, and these kernels fetch them ahead. A step against the build before, in turns: MobileNetV2 1.06,
// DenseNet121 1.04, ResNet-50 1.03 with passes of normalisations along all of them, 1.01 and less with those along
// 65,536 weights at most; with AVX2 MobileNetV2 1.05 either way, ResNet-50 0.94 along all. The gradients of x add
// 1.00 to 1.02, with AVX2 1.03.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLargeWeights = 512 << 10;  // conv2d_gemm.cpp
constexpr ProcessorRules kAll{.measured_on = "all others, by an AMD EPYC, Zen 5, 2026-11-26",
                              .in_place_weights = kNever,
                              .packed_weights = kLargeWeights,
                              .strided_channels = kNever,
                              .paired_weights = 64 << 10,
                              .data_products = false};
constexpr ProcessorRules kIntelFp16{.measured_on = "Intel Xeon, AVX-512 FP16 and AMX, 2026-11-27",
                                    .in_place_weights = 32 << 10,
                                    .packed_weights = kLargeWeights,
                                    .strided_channels = kNever,
                                    .paired_weights = 1 << 20,
                                    .data_products = true};
constexpr ProcessorRules kAvx2{.measured_on = "AVX2, by an Intel Xeon held to it, 2026-11-27",
                               .in_place_weights = kNever,
                               .packed_weights = 256 << 10,
                               .strided_channels = 128,
                               .paired_weights = 64 << 10,
                               .data_products = true};

}  // namespace

const ProcessorRules& rules_for(const Processor& processor) {
  if (processor.avx2) return kAvx2;
  if (processor.vendor == Processor::Vendor::kIntel && processor.avx512_fp16) return kIntelFp16;
  return kAll;
}

}  // namespace dptrain::backend::cpu
