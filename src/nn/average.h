#pragma once

namespace dptrain::nn {

/// Elementwise mean of two or more inputs, extents of 1 broadcast (Keras Average).
struct AverageSpec {};

}  // namespace dptrain::nn
