#pragma once

// PReLU: x where x > 0, alpha x elsewhere; alpha, in float, belongs to the elements of a sample or is shared along some
// of its axes. Asynchronous on the launch's stream; any thread. Outputs are overwritten.

#include <vector>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// How alpha lies over ONE sample: its extents are the sample's, or 1 where it is shared. Neighbouring axes of one kind
/// are one. Plain data, passed to kernels by value.
struct PRelu {
  static constexpr int kMaxAxes = 6;  ///< after joining

  /// Throws std::invalid_argument beyond that and for shapes that do not fit.
  PRelu(const std::vector<std::int64_t>& sample, const std::vector<std::int64_t>& alpha);

  int axes = 0;
  std::int64_t elements = 1, alphas = 1;  ///< of one sample; of alpha
  std::int64_t extent[kMaxAxes] = {};     ///< outermost first
  std::int64_t stride[kMaxAxes] = {};     ///< of alpha along them; 0 where it is shared
};

/// y == x allowed.
void prelu_forward(const Launch& at, DType type, const PRelu& prelu, const void* x, const float* alpha,
                   std::int64_t rows, void* y);

/// dx = dy where x > 0, alpha dy where x < 0, else zero (Keras's at the kink); dx == dy allowed.
void prelu_input_gradient(const Launch& at, DType type, const PRelu& prelu, const void* x, const void* dy,
                          const float* alpha, std::int64_t rows, void* dx);

/// Floats of workspace for prelu_alpha_gradient; never less for more rows.
std::int64_t prelu_workspace(const PRelu& prelu, std::int64_t rows);

/// gradient = sum of x dy over the rows and the shared axes where x < 0; in an order that depends on shapes alone.
void prelu_alpha_gradient(const Launch& at, DType type, const PRelu& prelu, const void* x, const void* dy,
                          std::int64_t rows, float* workspace, float* gradient);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
