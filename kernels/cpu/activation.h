#pragma once

// Activations of single elements and their gradients over flat arrays of n floats (over rows: softmax.h). May be called
// from any thread; work is shared among the caller's threads. Everything is overwritten. In place is allowed: y == x,
// dx == dy. NaN stays NaN.

#include <cstdint>

#include "kernels/activation_kind.h"
#include "kernels/cpu/launch.h"

namespace dptrain::kernels::cpu {

using kernels::Activation;
using kernels::ReluLayer;

/// y = f(x).
void activation_forward(const Launch&, DType, Activation kind, float alpha, const float* x, float* y, int64_t n);

/// dx = dy f'(x), from y = f(x). Only for kinds with has_gradient_from_output.
void activation_backward_from_output(const Launch&, DType, Activation kind, float alpha, const float* y,
                                     const float* dy, float* dx, int64_t n);

/// dx = dy f'(x), from x; for all kinds. At a kink the gradient is that of the left side for relu, leaky_relu, elu, and
/// relu6, hard_sigmoid and the gate of hard_silu have none at both of theirs.
void activation_backward_from_input(const Launch&, DType, Activation kind, float alpha, const float* x, const float* dy,
                                    float* dx, int64_t n);

void relu_layer_forward(const Launch&, DType, const ReluLayer& layer, const float* x, float* y, int64_t n);
void relu_layer_backward(const Launch&, DType, const ReluLayer& layer, const float* x, const float* dy, float* dx,
                         int64_t n);

}  // namespace dptrain::kernels::cpu
