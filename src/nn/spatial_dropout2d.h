#pragma once

namespace dptrain::nn {

/// Dropout of whole channels: in training keeps each channel of a sample with probability 1 - rate and scales it by
/// 1 / (1 - rate); a function of (seed, layer, step, sample), not of the replica (Keras SpatialDropout2D).
struct SpatialDropout2DSpec {
  float rate = 0;
};

}  // namespace dptrain::nn
