#include "backend/cpu/processor_rules.h"

#include <limits>

namespace dptrain::backend::cpu {
namespace {

using kernels::cpu::Processor;

// Ratios are time of oneDNN 2.6.3 / time of kernels/cpu, by one thread. conv2d_gemm.cpp has those of other processors.
//
// Intel Xeon with AVX-512 FP16 and AMX, gradients of 1x1 weights read in place: 0.97 to 1.17 up to 32,768 weights, 0.62
// to 0.91 above. Packed ones gain again from 524,288 on (conv2d_gemm.cpp).
//
// That Xeon limited to AVX2: forward 3x3/2 1.09 to 1.25 from 128 input channels on, gradients of 262,144 weights of
// 1x1 windows 1.12 to 1.13.
//
// 1x1 convolutions as products: forward 0.88 to 1.08 (AVX2 0.89 to 1.14), gradient of the input 0.86 to 1.84 (0.90 to
// 1.15). In a network, operands are in farther caches, and these kernels prefetch them. With fused normalizations a
// step of MobileNetV2, DenseNet121 or ResNet-50 is 1.03 to 1.06 times as fast. ResNet-50 with AVX2 is 0.94 times as
// fast without a limit of 65,536 weights. Gradients of the input add a factor of 1.00 to 1.03.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLargeWeights = 512 << 10;  // conv2d_gemm.cpp
constexpr ProcessorRules kAll{.measured_on = "all others, by an AMD EPYC, Zen 5, 2026-11-26",
                              .in_place_weights = kNever,
                              .packed_weights = kLargeWeights,
                              .strided_channels = kNever,
                              .fused_weights = 64 << 10,
                              .data_products = false};
constexpr ProcessorRules kIntelFp16{.measured_on = "Intel Xeon, AVX-512 FP16 and AMX, 2026-11-27",
                                    .in_place_weights = 32 << 10,
                                    .packed_weights = kLargeWeights,
                                    .strided_channels = kNever,
                                    .fused_weights = 1 << 20,
                                    .data_products = true};
constexpr ProcessorRules kAvx2{.measured_on = "AVX2, by an Intel Xeon limited to it, 2026-11-27",
                               .in_place_weights = kNever,
                               .packed_weights = 256 << 10,
                               .strided_channels = 128,
                               .fused_weights = 64 << 10,
                               .data_products = true};

}  // namespace

const ProcessorRules& rules_for(const Processor& processor) {
  if (processor.avx2) return kAvx2;
  if (processor.vendor == Processor::Vendor::kIntel && processor.avx512_fp16) return kIntelFp16;
  return kAll;
}

}  // namespace dptrain::backend::cpu
