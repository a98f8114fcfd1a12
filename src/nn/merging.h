#pragma once

// Layers of several inputs.

#include <cstdint>
#include <span>
#include <string>

#include "config/typed.h"
#include "core/shape.h"
#include "nn/layer.h"

namespace dptrain::nn {

// Shape rules, private to the module.

/// The common shape of inputs of an elementwise operation. Extents are equal, or 1 and broadcast (Keras's rule for
/// merge layers; a missing leading axis counts as 1). Throws LayerError.
Shape broadcast(std::span<const Shape> inputs);
/// "inputs differ: {0} is 28x28x128, {1} is 56x56x64".
std::string inputs_differ(std::span<const Shape> inputs);

/// Elementwise sum of two or more inputs, extents of 1 broadcast (Keras Add).
struct AddSpec {};

/// Elementwise mean of two or more inputs, extents of 1 broadcast (Keras Average).
struct AverageSpec {};

/// Concatenates the inputs along an axis (Keras Concatenate): -1, or from 1, because 0 is the batch.
struct ConcatenateSpec {
  int axis = -1;
};

/// The axes of the first and the second input that Dot sums over, counted as in Keras: 0 is the batch, -1 the last. In
/// a config: n for both, or [first, second].
struct DotAxes {
  std::int64_t first = 0, second = 0;
  bool operator==(const DotAxes&) const = default;
};

/// The sum of products of two inputs, vectors [K] or matrices, over an axis of each: [M, K] and [N, K], in any order,
/// give [M, N]; two vectors give [1]. With `normalize` each line along the axes is first divided by its length (Keras
/// Dot).
struct DotSpec {
  DotAxes axes;
  bool normalize = false;
};

/// An input of Dot as lines along its axis.
struct DotOperand {
  std::int64_t lines = 1, length = 0;
  std::int64_t line_stride = 0, stride = 1;  ///< in elements, from line to line and along a line
};
/// The operand of input `which`, 0 or 1. Throws LayerError.
DotOperand dot_operand(const DotSpec& spec, const Shape& in, int which);

/// Elementwise maximum of two or more inputs, extents of 1 broadcast (Keras Maximum). The first of several largest
/// inputs receives the gradient; NaN in any input gives NaN.
struct MaximumSpec {};

/// Elementwise minimum of two or more inputs, extents of 1 broadcast (Keras Minimum). The first of several smallest
/// inputs receives the gradient; NaN in any input gives NaN.
struct MinimumSpec {};

/// Elementwise product of two or more inputs, extents of 1 broadcast (Keras Multiply).
struct MultiplySpec {};

/// The first input minus the second, extents of 1 broadcast (Keras Subtract).
struct SubtractSpec {};

}  // namespace dptrain::nn

namespace dptrain::config {
DPTRAIN_CONFIG_VALUE(nn::DotAxes);
}  // namespace dptrain::config
