#pragma once

namespace dptrain::data {

/// x * scale + offset (Keras Rescaling, of one value for all channels).
struct RescalingSpec {
  double scale = 1;
  double offset = 0;
};

}  // namespace dptrain::data
