#pragma once

// Rules for choosing algorithms that differ between processors, as `bench --tune` found. Any thread.

#include <cstdint>

#include "kernels/cpu/processor.h"

namespace dptrain::backend::cpu {

struct ProcessorRules {
  const char* measured_on;  ///< machine and date
  /// Floats of the largest gradient of 1x1 weights for which kernels/cpu, reading images in place, are faster than
  /// oneDNN. Also applies to a Dense layer with some hundred rows.
  std::int64_t in_place_weights;
  /// Floats of the smallest gradient of 1x1 weights for which kernels/cpu, packing images, are faster. Between the two
  /// limits oneDNN is faster.
  std::int64_t packed_weights;
  /// Smallest number of input channels for which kernels/cpu compute strided forward passes faster.
  std::int64_t strided_channels;
  /// Floats of the largest weights of a 1x1 convolution whose forward pass fuses a normalization's passes.
  std::int64_t fused_weights;
  /// Whether kernels/cpu compute the gradient of the input of a 1x1 convolution faster.
  bool data_products;
};

/// The rules of `processor`, or the general ones if it has no row of its own.
const ProcessorRules& rules_for(const kernels::cpu::Processor& processor);

}  // namespace dptrain::backend::cpu
