#pragma once

namespace dptrain::nn {

/// The first input minus the second, extents of 1 broadcast (Keras Subtract).
struct SubtractSpec {};

}  // namespace dptrain::nn
