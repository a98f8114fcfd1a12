#pragma once

// PReLU over [positions, channels] with one alpha per channel: x where x > 0, alpha x elsewhere. Runs on the calling
// thread alone; any thread.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// y == x allowed.
void prelu_forward(const float* x, const float* alpha, int64_t positions, int64_t channels, float* y);

/// dx = dy where x > 0, alpha dy where x < 0, else zero (Keras's at the kink); overwritten, dx == dy allowed.
void prelu_input_gradient(const float* x, const float* dy, const float* alpha, int64_t positions, int64_t channels,
                          float* dx);

/// sums[c] += sum over the positions with x < 0 of x dy. Chains of additions are short.
void prelu_alpha_gradient(const float* x, const float* dy, int64_t positions, int64_t channels, float* sums);

}  // namespace dptrain::kernels::cpu
