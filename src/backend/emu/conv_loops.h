#pragma once

// The three passes of a convolution over floats in host memory (layouts: backend/gpu/convolution.h). Results overwrite.
// Sixteen channels are computed side by side; each number's sum is in the order that its function names. Any thread.

#include "backend/gpu/convolution.h"

namespace dptrain::backend::emu {

/// y = conv(x) + bias (which may be null), then the larger of it and 0 if problem.relu; summed over r, s, c.
void convolve(const gpu::ConvProblem& problem, const float* x, const float* filter, const float* bias, float* y);

/// Summed over r, s, k.
void convolve_data(const gpu::ConvProblem& problem, const float* dy, const float* filter, float* dx);

/// Summed over images, rows, columns of the output.
void convolve_weights(const gpu::ConvProblem& problem, const float* x, const float* dy, float* dfilter);

}  // namespace dptrain::backend::emu
