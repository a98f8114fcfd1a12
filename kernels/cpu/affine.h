#pragma once

// The layer Normalization over flat arrays. May be called from any thread; work is shared among the caller's threads.

#include <cstdint>

namespace dptrain::kernels::cpu {

/// y[i] = (x[i] - shift[i % period]) scale[i % period] + offset[i % period]; without `shift` and `offset`,
/// both null: x[i] scale[i % period].
/// y == x allowed. A period of some hundred numbers is quickest.
void periodic_affine(const float* x, const float* shift, const float* scale, const float* offset, int64_t period,
                     int64_t n, float* y);

}  // namespace dptrain::kernels::cpu
