#pragma once

// Element-wise activations and gradients over flat arrays of n floats (over rows: softmax.h). y == x and dx == dy are
// allowed. NaN propagates. Conventions: parallel.h.

#include <cstdint>

#include "kernels/activation_kind.h"
#include "kernels/cpu/launch.h"

namespace dptrain::kernels::cpu {

using kernels::Activation;
using kernels::ReluLayer;

void activation_forward(const Launch&, DType, Activation kind, float alpha, const float* x, float* y, int64_t n);

/// dx = dy f'(x), from y = f(x). Only for kinds with has_gradient_from_output.
void activation_backward_from_output(const Launch&, DType, Activation kind, float alpha, const float* y,
                                     const float* dy, float* dx, int64_t n);

/// dx = dy f'(x), from x, for all kinds. At a kink relu, leaky_relu and elu use the slope on the left; relu6,
/// hard_sigmoid and the gate of hard_silu have a zero gradient at both kinks.
void activation_backward_from_input(const Launch&, DType, Activation kind, float alpha, const float* x, const float* dy,
                                    float* dx, int64_t n);

void relu_layer_forward(const Launch&, DType, const ReluLayer& layer, const float* x, float* y, int64_t n);
void relu_layer_backward(const Launch&, DType, const ReluLayer& layer, const float* x, const float* dy, float* dx,
                         int64_t n);

}  // namespace dptrain::kernels::cpu
