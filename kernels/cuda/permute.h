#pragma once

// Reorders axes (Keras's Permute) by copying.

#include <vector>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// For the shape of one sample: axis d of the output is axis axes[d] of the input, from 0. Extents of 1 are removed,
/// and axes that stay adjacent are joined. Plain data, passed to kernels by value.
struct Permutation {
  static constexpr int kMaxAxes = 8;  ///< after joining

  /// Throws std::invalid_argument beyond that, or if `axes` is not a permutation of the shape's axes.
  Permutation(const std::vector<std::int64_t>& in_shape, const std::vector<int>& axes);

  int axes = 0;
  std::int64_t elements = 1;           ///< elements per sample
  std::int64_t extent[kMaxAxes] = {};  ///< extents of the output, outermost first
  std::int64_t stride[kMaxAxes] = {};  ///< strides of the input along these axes
};

/// y = x with reordered axes; not in place. The gradient is the same with the inverse permutation.
void permute(const Launch& at, DType type, const Permutation& permutation, const void* x, std::int64_t rows, void* y);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
