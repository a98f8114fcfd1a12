#pragma once

// State that changes per step, read by kernels from device memory, so that a recorded step can be replayed. Plain data.

#include <cstdint>

namespace dptrain::kernels {

struct StepState {
  int64_t step = 0;  ///< optimizer steps done before; the counter of random layers
  double learning_rate = 0;
  double hyper[4] = {};  ///< computed by the optimizer's op (kernels/cuda/adam.h)
};

/// State for gradients that are not finite, with which the optimizer changes nothing; in device memory. Loss scaling
/// (mixed_float16) multiplies the loss gradients by `scale`, and the optimizer divides by it.
struct LossScale {
  float scale = 32768.0F;
  int32_t good_steps = 0;  ///< since the scale last changed
  int32_t found_inf = 0;   ///< in this step's reduced gradients; cleared by update_loss_scale() and count_skipped()
  int64_t skipped = 0;     ///< skipped steps, which the update number t does not count
};

}  // namespace dptrain::kernels
