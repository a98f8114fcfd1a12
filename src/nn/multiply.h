#pragma once

namespace dptrain::nn {

/// Elementwise product of two or more inputs, extents of 1 broadcast (Keras Multiply).
struct MultiplySpec {};

}  // namespace dptrain::nn
