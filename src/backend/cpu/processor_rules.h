#pragma once

// Rules of choice that differ between processors: what `bench --tune` found on one and not on another. Any thread.

#include <cstdint>

#include "kernels/cpu/processor.h"

namespace dptrain::backend::cpu {

struct ProcessorRules {
  const char* measured_on;  ///< machine and date
  /// Floats of the largest gradient of 1x1 weights, or of a Dense layer's of some hundred rows, for which kernels/cpu,
  /// reading images where they stand, are faster than oneDNN.
  std::int64_t in_place_weights;
  /// Floats of the smallest gradient of 1x1 weights for which kernels/cpu, packing images, are faster. Between the two
  /// oneDNN is.
  std::int64_t packed_weights;
  /// Input channels from which on kernels/cpu compute windows with strides faster, forward.
  std::int64_t strided_channels;
  /// Floats of the largest weights of a 1x1 convolution along which a normalisation's passes go, forward.
  std::int64_t paired_weights;
  /// Whether kernels/cpu give the gradient of the input of a 1x1 convolution faster.
  bool data_products;
};

/// Of a processor without a row of its own, those that hold for all.
const ProcessorRules& rules_for(const kernels::cpu::Processor& processor);

}  // namespace dptrain::backend::cpu
