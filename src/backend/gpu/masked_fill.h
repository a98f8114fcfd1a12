#pragma once

// kernel::fill_masked_steps as MaskedInputs calls it.

#include "backend/ops/backend.h"
#include "kernels/cuda/masked_steps.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

inline auto masked_fill(const kernel::Launch& at, DType type) {
  return
      [=](const void* x, const std::uint8_t* mask, const std::uint8_t* others, std::int64_t steps, std::int64_t width,
          float value, void* y) { kernel::fill_masked_steps(at, type, x, mask, others, steps, width, value, y); };
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
