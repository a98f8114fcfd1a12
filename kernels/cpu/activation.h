#pragma once

// Activation functions and their gradients over flat arrays of n floats. May be called from any thread; work is shared
// among the caller's OpenMP threads. Everything is overwritten. In place is allowed: y == x, dx == dy. NaN stays NaN.

#include <cstdint>

namespace dptrain::kernels::cpu {

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

/// y = f(x).
void activation_forward(Activation kind, float alpha, const float* x, float* y, int64_t n);

/// dx = dy f'(x), from y = f(x). Only for kinds with has_gradient_from_output.
void activation_backward_from_output(Activation kind, float alpha, const float* y, const float* dy, float* dx,
                                     int64_t n);

/// dx = dy f'(x), from x; for all kinds. At a kink the gradient is that of the left side for relu, leaky_relu, elu and
/// zero at 6 for relu6.
void activation_backward_from_input(Activation kind, float alpha, const float* x, const float* dy, float* dx,
                                    int64_t n);

/// Keras's ReLU layer: max_value where x >= max_value, x where x > threshold, negative_slope (x - threshold) otherwise.
/// max_value may be infinity.
struct ReluLayer {
  float max_value;
  float negative_slope;
  float threshold;
};

void relu_layer_forward(const ReluLayer& layer, const float* x, float* y, int64_t n);
void relu_layer_backward(const ReluLayer& layer, const float* x, const float* dy, float* dx, int64_t n);

}  // namespace dptrain::kernels::cpu
