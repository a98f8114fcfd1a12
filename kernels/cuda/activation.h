#pragma once

// Activations of single elements and their gradients over flat arrays of n elements (over rows: softmax.h). The
// formulas are those of kernels/cpu/activation.h, computed in float. Asynchronous on the launch's stream; any thread.
// Everything is overwritten. In place is allowed: y == x, dx == dy. NaN stays NaN.

#include "core/dtype.h"
#include "kernels/activation_kind.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using kernels::Activation;
using kernels::ReluLayer;

/// y = f(x).
void activation_forward(const Launch& at, DType type, Activation kind, float alpha, const void* x, void* y,
                        std::int64_t n);

/// dx = dy f'(x), from y = f(x). Throws std::invalid_argument for kinds without has_gradient_from_output.
void activation_backward_from_output(const Launch& at, DType type, Activation kind, float alpha, const void* y,
                                     const void* dy, void* dx, std::int64_t n);

/// dx = dy f'(x), from x; for all kinds. At a kink the gradient is that of the left side for relu, leaky_relu, elu, and
/// relu6, hard_sigmoid and the gate of hard_silu have none at both of theirs.
void activation_backward_from_input(const Launch& at, DType type, Activation kind, float alpha, const void* x,
                                    const void* dy, void* dx, std::int64_t n);

void relu_layer_forward(const Launch& at, DType type, const ReluLayer& layer, const void* x, void* y, std::int64_t n);
void relu_layer_backward(const Launch& at, DType type, const ReluLayer& layer, const void* x, const void* dy, void* dx,
                         std::int64_t n);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
