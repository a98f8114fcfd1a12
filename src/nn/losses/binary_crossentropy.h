#pragma once

namespace dptrain::nn {

/// The mean of -(y' ln q + (1 - y') ln(1 - q)), with y' = y (1 - s) + s / 2 and q = clip(p, 1e-7, 1 - 1e-7); of logits
/// max(z, 0) - z y' + ln(1 + e^-|z|) (Keras 3, BinaryCrossentropy).
struct BinaryCrossentropySpec {
  bool from_logits = false;
  double label_smoothing = 0;  ///< s
};

}  // namespace dptrain::nn
