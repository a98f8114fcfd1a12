#pragma once

namespace dptrain::layers {

/// In training keeps each element with probability 1 - rate and scales it by 1 / (1 - rate); the mask is a function of
/// (seed, layer, step, sample), not of the replica (Keras Dropout).
struct DropoutSpec {
  float rate = 0;
};

}  // namespace dptrain::layers
