#pragma once

namespace dptrain::nn {

/// In training adds a normal random number of mean 0 to each element, a function of (seed, layer, step, sample), not of
/// the replica (Keras GaussianNoise).
struct GaussianNoiseSpec {
  float stddev = 0;
};

}  // namespace dptrain::nn
