#pragma once

namespace dptrain::nn {

/// x if x > 0 else negative_slope * x (Keras LeakyReLU; `alpha` is read as well).
struct LeakyReLUSpec {
  float negative_slope = 0.3F;
};

}  // namespace dptrain::nn
