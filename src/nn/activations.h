#pragma once

// Layers that apply an activation.

#include <optional>

#include "core/shape.h"
#include "nn/activation.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// A function of each element, or softmax over the last axis (Keras Activation).
struct ActivationSpec {
  Activation activation = Activation::kLinear;
};

/// x if x > 0 else alpha * (e^x - 1) (Keras ELU).
struct ELUSpec {
  float alpha = 1.0F;
};

/// x if x > 0 else negative_slope * x (Keras LeakyReLU; `alpha` is read as well).
struct LeakyReLUSpec {
  float negative_slope = 0.3F;
};

/// x if x > 0 else alpha * x, with a learned alpha per element of a sample, or one for all elements along the shared
/// axes (Keras PReLU).
struct PReLUSpec {
  Initializer alpha_initializer{Zeros{}};
  Regularizer alpha_regularizer;
  Shape shared_axes;  ///< counted from 1, the batch being axis 0: [1, 2] shares over height and width
};

/// max_value if x >= max_value; x if threshold < x; negative_slope * (x - threshold) otherwise (Keras ReLU).
struct ReLUSpec {
  std::optional<float> max_value;
  float negative_slope = 0;
  float threshold = 0;
};

/// exp(x - max) / sum over an axis; only the last axis (-1) is supported (Keras Softmax).
struct SoftmaxSpec {
  int axis = -1;
};

}  // namespace dptrain::nn
