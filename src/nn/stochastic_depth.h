#pragma once

namespace dptrain::nn {

/// In training drops a whole sample's values with probability drop_path_rate and divides those of the others by
/// 1 - drop_path_rate; a function of (seed, layer, step, sample), not of the replica (StochasticDepth of Keras
/// Applications' ConvNeXt).
struct StochasticDepthSpec {
  float drop_path_rate = 0;
};

}  // namespace dptrain::nn
