#pragma once

// Which activation a kernel computes, the same for kernels/cpu and kernels/cuda. Plain data.

namespace dptrain::kernels {

enum class Activation {
  linear,
  relu,
  relu6,
  leaky_relu,  ///< alpha: slope for x < 0
  elu,         ///< alpha: scale of the negative part
  selu,
  gelu,       ///< exact: x/2 (1 + erf(x / sqrt 2))
  gelu_tanh,  ///< the tanh form, Keras's approximate=True
  swish,
  tanh,
  sigmoid,
  softplus,
};

/// Whether the gradient can be computed from the output alone, so that the input need not be kept.
/// For leaky_relu and elu this needs alpha > 0 (alpha >= 0 for leaky_relu).
constexpr bool has_gradient_from_output(Activation kind) {
  return kind != Activation::gelu && kind != Activation::gelu_tanh && kind != Activation::swish;
}

/// Keras's ReLU layer: max_value where x >= max_value, x where x > threshold, negative_slope (x - threshold) otherwise.
/// max_value may be infinity.
struct ReluLayer {
  float max_value;
  float negative_slope;
  float threshold;
};

}  // namespace dptrain::kernels
