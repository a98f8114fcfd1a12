#pragma once

namespace dptrain::nn {

/// Elementwise sum of two or more inputs, extents of 1 broadcast (Keras Add).
struct AddSpec {};

}  // namespace dptrain::nn
