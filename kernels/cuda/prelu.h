#pragma once

// PReLU: x where x > 0, else alpha x. alpha is float, one per element of a sample or shared along some axes.

#include <vector>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Layout of alpha for one sample: extents are the sample's, or 1 if shared. Adjacent axes of the same kind are joined.
/// Passed to kernels by value.
struct PRelu {
  static constexpr int kMaxAxes = 6;  ///< after joining

  /// Throws std::invalid_argument beyond that and for incompatible shapes.
  PRelu(const std::vector<std::int64_t>& sample, const std::vector<std::int64_t>& alpha);

  int axes = 0;
  std::int64_t elements = 1, alphas = 1;  ///< elements per sample; number of alphas
  std::int64_t extent[kMaxAxes] = {};     ///< outermost first
  std::int64_t stride[kMaxAxes] = {};     ///< strides of alpha along these axes; 0 if shared
};

/// y == x allowed.
void prelu_forward(const Launch& at, DType type, const PRelu& prelu, const void* x, const float* alpha,
                   std::int64_t rows, void* y);

/// dx = dy where x > 0, alpha dy where x < 0, else zero (as in Keras); dx == dy allowed.
void prelu_input_gradient(const Launch& at, DType type, const PRelu& prelu, const void* x, const void* dy,
                          const float* alpha, std::int64_t rows, void* dx);

/// Floats of workspace for prelu_alpha_gradient. Does not decrease with rows.
std::int64_t prelu_workspace(const PRelu& prelu, std::int64_t rows);

/// gradient = sum of x dy over the rows and shared axes where x < 0, in an order that depends only on shapes.
void prelu_alpha_gradient(const Launch& at, DType type, const PRelu& prelu, const void* x, const void* dy,
                          std::int64_t rows, float* workspace, float* gradient);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
