#pragma once

// Rules of choice that differ between processors: what `bench --tune` found on one and not on another. Any thread.

#include <cstdint>

#include "kernels/cpu/processor.h"

namespace dptrain::device::cpu {

struct ProcessorRules {
  const char* measured_on;  ///< machine and date
  /// Floats of the largest gradient of 1x1 weights, or of a Dense layer's of some hundred rows, for which kernels/cpu,
  /// reading images where they stand, are faster than oneDNN.
  std::int64_t in_place_weights;
};

/// Of a processor without a row of its own, those that hold for all.
const ProcessorRules& rules_for(const kernels::cpu::Processor& processor);

}  // namespace dptrain::device::cpu
