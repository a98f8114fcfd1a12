#pragma once

namespace dptrain::nn {

/// Elementwise maximum of two or more inputs, extents of 1 broadcast (Keras Maximum). Where several are largest the
/// first one takes the gradient; NaN in any input gives NaN.
struct MaximumSpec {};

}  // namespace dptrain::nn
