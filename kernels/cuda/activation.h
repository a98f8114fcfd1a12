#pragma once

// Element-wise activations (over rows: softmax.h) in float, as kernels/cpu/activation.h. y == x and dx == dy allowed.
// NaN propagates.

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

/// dx = dy f'(x), from x; for all kinds. At the kink of relu, leaky_relu and elu the gradient is that of the left side.
/// At both kinks of relu6, hard_sigmoid and the gate of hard_silu it is zero.
void activation_backward_from_input(const Launch& at, DType type, Activation kind, float alpha, const void* x,
                                    const void* dy, void* dx, std::int64_t n);

void relu_layer_forward(const Launch& at, DType type, const ReluLayer& layer, const void* x, void* y, std::int64_t n);
void relu_layer_backward(const Launch& at, DType type, const ReluLayer& layer, const void* x, const void* dy, void* dx,
                         std::int64_t n);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
