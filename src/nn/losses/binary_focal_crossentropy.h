#pragma once

namespace dptrain::nn {

/// The mean of (1 - p_t)^gamma times BinaryCrossentropySpec's value, with p_t = y' p + (1 - y') (1 - p); with
/// apply_class_balancing times y' alpha + (1 - y') (1 - alpha) (Keras 3, BinaryFocalCrossentropy; Lin et al. 2017). Of
/// logits, and behind a sigmoid that the plan fuses, the crossentropy comes from the logits, without a clip.
struct BinaryFocalCrossentropySpec {
  bool apply_class_balancing = false;
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
};

}  // namespace dptrain::nn
