#pragma once

#include <cstdint>
#include <span>

#include "config/value.h"
#include "core/shape.h"

namespace dptrain::nn {

/// The axes that Dot sums over, of the first and the second input, as Keras counts: the batch is 0, -1 the last. In a
/// config: n for both, or [first, second].
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

/// An input as lines along its axis.
struct DotOperand {
  std::int64_t lines = 1, length = 0;
  std::int64_t line_stride = 0, stride = 1;  ///< in elements, from line to line and along a line
};
/// Of input `which` of the two. Throws LayerError.
DotOperand dot_operand(const DotSpec& spec, const Shape& in, int which);

}  // namespace dptrain::nn

namespace dptrain::config {
template <>
struct Value<nn::DotAxes> {
  static bool read(const Node&, Reader&, nn::DotAxes& out);
  static Node write(const nn::DotAxes&);
  static Node schema();
};
}  // namespace dptrain::config
