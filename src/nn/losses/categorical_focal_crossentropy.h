#pragma once

namespace dptrain::nn {

/// alpha sum (1 - q)^gamma (-y' ln q) over the classes of a position, with y' and q as in CategoricalCrossentropySpec;
/// of logits, and behind a softmax that the plan fuses, p = softmax(z) (Keras 3, CategoricalFocalCrossentropy; Lin et
/// al. 2017).
struct CategoricalFocalCrossentropySpec {
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
};

}  // namespace dptrain::nn
