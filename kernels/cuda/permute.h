#pragma once

// Axes in another order (Keras's Permute): moves without arithmetic. Asynchronous on the launch's stream; any thread.

#include <vector>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Made once for the shape of ONE sample: axis d of the output is axis axes[d] of the input, counted from 0. Extents of
/// 1 are left out, and axes that stay neighbours are one. Plain data, passed to kernels by value.
struct Permutation {
  static constexpr int kMaxAxes = 8;  ///< after joining

  /// Throws std::invalid_argument beyond that, and where `axes` is no permutation of the shape's.
  Permutation(const std::vector<std::int64_t>& in_shape, const std::vector<int>& axes);

  int axes = 0;
  std::int64_t elements = 1;           ///< of one sample
  std::int64_t extent[kMaxAxes] = {};  ///< of the output, outermost first
  std::int64_t stride[kMaxAxes] = {};  ///< of the input along them
};

/// y = x with its axes in the new order; not in place. The gradient is the same with the inverse permutation.
void permute(const Launch& at, DType type, const Permutation& permutation, const void* x, std::int64_t rows, void* y);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
