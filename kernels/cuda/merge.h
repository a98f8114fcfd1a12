#pragma once

// Keras's merge layers with broadcasting. An output may be an input that is not broadcast, unless stated otherwise.

#include <vector>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Broadcasts of the inputs to the output, for shapes of one sample, aligned at the last axis. An input's extent is the
/// output's or 1. Adjacent axes that are broadcast alike in all inputs are joined. Passed to kernels by value.
struct Merge {
  static constexpr int kMaxAxes = 8;  ///< after joining
  static constexpr int kMaxInputs = 24;

  /// Throws std::invalid_argument beyond these limits and for incompatible shapes.
  Merge(const std::vector<std::vector<std::int64_t>>& input_shapes, const std::vector<std::int64_t>& output_shape);

  /// Whether input i is not broadcast.
  bool trivial(int i) const { return elements[i] == output_elements; }

  int inputs = 0, axes = 0;
  std::int64_t output_elements = 1;                ///< in one sample
  std::int64_t elements[kMaxInputs] = {};          ///< in one sample, per input
  std::int64_t extent[kMaxAxes] = {};              ///< per axis of the output, outermost first
  std::int64_t stride[kMaxInputs][kMaxAxes] = {};  ///< per input and axis; 0 if broadcast
};

/// y = sum of the inputs, then max(., 0) if `relu`.
void add_forward(const Launch& at, DType type, const Merge& merge, const void* const* inputs, std::int64_t rows,
                 bool relu, void* y);

/// Gradient of input i: dx = dy, summed over broadcast axes. If `output` (the forward y) is not null, includes the
/// ReLU's gradient: dy is taken as zero where output <= 0. dx == dy allowed if input i is trivial.
void add_backward(const Launch& at, DType type, const Merge& merge, int i, const void* output, const void* dy,
                  std::int64_t rows, void* dx);

/// Both gradients of a sum of two equal shapes with ReLU: dy where output > 0, else zero. Either may be dy.
void add_relu_backward(const Launch& at, DType type, const void* output, const void* dy, std::int64_t n, void* dx0,
                       void* dx1);

/// y = mean of the inputs.
void average_forward(const Launch& at, DType type, const Merge& merge, const void* const* inputs, std::int64_t rows,
                     void* y);

/// y = the first input minus the second.
void subtract_forward(const Launch& at, DType type, const Merge& merge, const void* const* inputs, std::int64_t rows,
                      void* y);

/// Gradient of input i in a mean or difference: dx = factor dy, summed over broadcast axes; in place if i is trivial.
void scaled_backward(const Launch& at, DType type, const Merge& merge, int i, float factor, const void* dy,
                     std::int64_t rows, void* dx);

/// y = a + b factor, for n elements of equal shapes. y may be a or b.
void add_scaled(const Launch& at, DType type, const void* a, const void* b, float factor, std::int64_t n, void* y);

enum class Extreme { kLargest, kSmallest };

/// y = the largest or smallest of the inputs; NaN if any is NaN.
void extreme_forward(const Launch& at, DType type, Extreme which, const Merge& merge, const void* const* inputs,
                     std::int64_t rows, void* y);

/// Gradient of input i: dx = dy if it is the first input equal to the output y, else zero; summed over broadcast axes.
void extreme_backward(const Launch& at, DType type, const Merge& merge, int i, const void* const* inputs, const void* y,
                      const void* dy, std::int64_t rows, void* dx);

/// y = product of the inputs.
void multiply_forward(const Launch& at, DType type, const Merge& merge, const void* const* inputs, std::int64_t rows,
                      void* y);

/// Gradient of input i: dx = dy times the other inputs, summed over broadcast axes. dx == dy is allowed only for the
/// last gradient computed, if input i is trivial.
void multiply_backward(const Launch& at, DType type, const Merge& merge, int i, const void* const* inputs,
                       const void* dy, std::int64_t rows, void* dx);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
