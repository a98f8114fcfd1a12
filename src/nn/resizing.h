#pragma once

#include <cstdint>

#include "nn/up_sampling2d.h"

namespace dptrain::nn {

/// [H, W, C] to [height, width, C]: the centres of the new pixels lie evenly over the old ones, and each takes the
/// pixel that its centre lies in, or is interpolated between the centres of the next ones (Keras Resizing without
/// antialias and without keeping the aspect ratio).
struct ResizingSpec {
  std::int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
};

}  // namespace dptrain::nn
