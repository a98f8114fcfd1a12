#pragma once

namespace dptrain::nn {

/// Elementwise minimum of two or more inputs, extents of 1 broadcast (Keras Minimum). Where several are smallest the
/// first one takes the gradient; NaN in any input gives NaN.
struct MinimumSpec {};

}  // namespace dptrain::nn
