#pragma once

namespace dptrain::nn {

/// -sum y' ln q over the classes of a position, with y' = y (1 - s) + s / classes and q = clip(p / sum p, 1e-7,
/// 1 - 1e-7); of logits, and behind a softmax that the plan fuses, ln softmax(z) in place of ln q (Keras 3,
/// CategoricalCrossentropy).
struct CategoricalCrossentropySpec {
  bool from_logits = false;
  double label_smoothing = 0;  ///< s
};

}  // namespace dptrain::nn
