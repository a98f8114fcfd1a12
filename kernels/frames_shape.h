#pragma once

// The order of frames: [rows, steps, ...] as everybody has it, and [steps, rows, ...], in which all rows of a step are
// one batch. The same for both kinds of kernels.

#include <cstdint>

namespace dptrain::kernels {

/// A frame is `pixels` of `channels` each; in the order of steps it lies at `offset` of pixels `stride` apart.
struct FramesShape {
  std::int64_t rows = 0, steps = 0, pixels = 0, channels = 0, stride = 0, offset = 0;

  std::int64_t elements() const { return rows * steps * pixels * channels; }
};

}  // namespace dptrain::kernels
