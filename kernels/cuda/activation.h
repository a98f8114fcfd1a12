#pragma once

// Activation functions and their gradients over flat arrays of n elements (softmax: softmax.h). The formulas are those
// of kernels/cpu/activation.h, computed in float. Asynchronous on the launch's stream; any thread. Everything is
// overwritten. In place is allowed: y == x, dx == dy. NaN stays NaN.

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_GPU {

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
void activation_forward(const Launch& at, DType type, Activation kind, float alpha, const void* x, void* y,
                        std::int64_t n);

/// dx = dy f'(x), from y = f(x). Throws std::invalid_argument for kinds without has_gradient_from_output.
void activation_backward_from_output(const Launch& at, DType type, Activation kind, float alpha, const void* y,
                                     const void* dy, void* dx, std::int64_t n);

/// dx = dy f'(x), from x; for all kinds. At a kink the gradient is that of the left side for relu, leaky_relu, elu and
/// zero at 6 for relu6.
void activation_backward_from_input(const Launch& at, DType type, Activation kind, float alpha, const void* x,
                                    const void* dy, void* dx, std::int64_t n);

/// Keras's ReLU layer: max_value where x >= max_value, x where x > threshold, negative_slope (x - threshold) otherwise.
/// max_value may be infinity.
struct ReluLayer {
  float max_value;
  float negative_slope;
  float threshold;
};

void relu_layer_forward(const Launch& at, DType type, const ReluLayer& layer, const void* x, void* y, std::int64_t n);
void relu_layer_backward(const Launch& at, DType type, const ReluLayer& layer, const void* x, const void* dy, void* dx,
                         std::int64_t n);

}  // namespace dptrain::kernels::DPTRAIN_GPU
