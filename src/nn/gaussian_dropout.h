#pragma once

namespace dptrain::nn {

/// In training multiplies each element by a normal random number of mean 1 and standard deviation sqrt(rate / (1 -
/// rate)), a function of (seed, layer, step, sample), not of the replica (Keras GaussianDropout).
struct GaussianDropoutSpec {
  float rate = 0;
};

/// That deviation.
float deviation(const GaussianDropoutSpec& spec);

}  // namespace dptrain::nn
