#pragma once

#include <cstdint>

namespace dptrain::nn {

/// x times a learned factor for each of the channels, the last axis (LayerScale of Keras Applications' ConvNeXt).
struct LayerScaleSpec {
  double init_values = 1e-6;        ///< what all factors begin with
  std::int64_t projection_dim = 1;  ///< how many channels there are
};

}  // namespace dptrain::nn
