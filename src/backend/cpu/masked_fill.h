#pragma once

// kernels::cpu::fill_masked_steps as MaskedInputs calls it.

#include <cstdint>

#include "kernels/cpu/masked_steps.h"

namespace dptrain::backend::cpu {

inline void fill_masked(const void* x, const std::uint8_t* mask, const std::uint8_t* others, std::int64_t steps,
                        std::int64_t width, float value, void* y) {
  kernels::cpu::fill_masked_steps(static_cast<const float*>(x), mask, others, steps, width, value,
                                  static_cast<float*>(y));
}

}  // namespace dptrain::backend::cpu
