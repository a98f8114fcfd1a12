#pragma once

// PReLU over [positions, channels] with one alpha per channel: x if x > 0, else alpha x. Thread-safe and serial.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// y == x is allowed.
void prelu_forward(const float* x, const float* alpha, int64_t positions, int64_t channels, float* y);

/// dx = dy if x > 0, alpha dy if x < 0, else zero (as in Keras); overwritten, dx == dy is allowed.
void prelu_input_gradient(const float* x, const float* dy, const float* alpha, int64_t positions, int64_t channels,
                          float* dx);

/// sums[c] += sum of x dy over the positions with x < 0, in short chains of additions.
void prelu_alpha_gradient(const float* x, const float* dy, int64_t positions, int64_t channels, float* sums);

}  // namespace dptrain::kernels::cpu
