#pragma once

// The layers Normalization, Rescaling and LayerScale. Conventions: parallel.h.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// y[i] = (x[i] - shift[i % period]) scale[i % period] + offset[i % period]; x[i] scale[i % period] if shift and offset
/// are null. y == x is allowed. Periods of some hundred numbers are fastest.
void periodic_affine(const float* x, const float* shift, const float* scale, const float* offset, int64_t period,
                     int64_t n, float* y);
int64_t channel_scale_workspace(int64_t rows, int64_t channels);

/// gradient[c] = sum over rows of x[row, c] dy[row, c]: partial sums of fixed blocks of rows, added in order.
void channel_scale_gradient(const float* x, const float* dy, int64_t rows, int64_t channels, float* workspace,
                            float* gradient);

}  // namespace dptrain::kernels::cpu
