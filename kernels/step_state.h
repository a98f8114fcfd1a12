#pragma once

// What changes from step to step and is read by kernels from device memory, so that a recorded step can be replayed.
// The same on host and device; plain data.

#include <cstdint>

namespace dptrain::kernels {

/// Uploaded before every step.
struct StepState {
  int64_t step = 0;  ///< optimizer steps done before: counter of random layers
  double learning_rate = 0;
  double hyper[4] = {};  ///< what the optimizer's op makes of them: kernels/cuda/adam.h says which
};

/// What becomes of steps whose gradients are not finite; lives on the device. The optimizer leaves everything as it is
/// in such a step. With dynamic loss scaling (mixed_float16) loss gradients are multiplied by `scale` and the optimizer
/// divides by it.
struct LossScale {
  float scale = 32768.0F;
  int32_t good_steps = 0;  ///< since the scale last changed
  int32_t found_inf = 0;   ///< in this step's reduced gradients, or since it was last cleared
  int64_t skipped = 0;     ///< steps left out so far: t, the number of the update, does not count them
};

}  // namespace dptrain::kernels
