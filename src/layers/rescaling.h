#pragma once

namespace dptrain::layers {

/// x * scale + offset (Keras Rescaling).
struct RescalingSpec {
  double scale = 1;
  double offset = 0;
};

}  // namespace dptrain::layers
