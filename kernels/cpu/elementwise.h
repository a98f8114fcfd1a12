#pragma once

// Element-wise passes over flat arrays, and the bias of a layer. Outputs may equal inputs but not partly overlap them;
// u8_to_f32 is not in place. Conventions: parallel.h.

#include <cstdint>

#include "kernels/cpu/launch.h"

namespace dptrain::kernels::cpu {

void fill(float value, float* y, int64_t n);
void copy(const Launch&, DType, const float* x, float* y, int64_t n);
void add(const float* a, const float* b, float* y, int64_t n);
/// y = a + b factor.
void add_scaled(const float* a, const float* b, float factor, float* y, int64_t n);
/// y = max(a + b, 0); NaN propagates.
void add_relu(const float* a, const float* b, float* y, int64_t n);
/// Gradients of add_relu: da = db = dy where y is positive, else 0.
void add_relu_backward(const float* y, const float* dy, float* da, float* db, int64_t n);
/// y += x.
void accumulate(const float* x, float* y, int64_t n);
void multiply(const float* a, const float* b, float* y, int64_t n);
void subtract(const float* a, const float* b, float* y, int64_t n);
/// y = the larger (smaller) of a and b; NaN if either is NaN.
void maximum(const float* a, const float* b, float* y, int64_t n);
void minimum(const float* a, const float* b, float* y, int64_t n);
/// Where a == b: taken = left, left = 0; elsewhere taken = 0. `taken` may be null.
void move_where_equal(const float* a, const float* b, float* left, float* taken, int64_t n);
/// y = x scale + offset.
void scale_offset(const float* x, float scale, float offset, float* y, int64_t n);
void u8_to_f32(const uint8_t* x, float scale, float offset, float* y, int64_t n);

/// y[row, c] = x[row, c] + bias[c].
void bias_add(const float* x, const float* bias, int64_t rows, int64_t channels, float* y);
int64_t bias_gradient_workspace(int64_t rows, int64_t channels);

/// gradient[c] = sum over rows of dy[row, c]: partial sums of fixed blocks of rows, added in order.
void bias_gradient(const float* dy, int64_t rows, int64_t channels, float* workspace, float* gradient);

}  // namespace dptrain::kernels::cpu
