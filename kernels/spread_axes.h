#pragma once

// A row of numbers spread over the axes of a larger row, the same for kernels/cpu and kernels/cuda.

#include <cstdint>

#ifndef DPTRAIN_HOST_DEVICE
#if defined(__CUDACC__)
#define DPTRAIN_HOST_DEVICE __host__ __device__
#else
#define DPTRAIN_HOST_DEVICE
#endif
#endif

namespace dptrain::kernels {

/// Axes of a row, outermost first, at least one.
struct SpreadAxes {
  static constexpr int kMost = 6;
  int axes = 0;
  int64_t extent[kMost] = {};
  int64_t stride[kMost] = {};  ///< in the row of numbers; 0: one number stands for all along the axis
  int64_t numbers = 1;         ///< of a row
  bool one_row = false;        ///< all rows have the numbers of row 0

  /// The number that stands for an element.
  DPTRAIN_HOST_DEVICE int64_t place(int64_t element) const {
    int64_t number = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      number += element % extent[axis] * stride[axis];
      element /= extent[axis];
    }
    return number;
  }
};

}  // namespace dptrain::kernels
