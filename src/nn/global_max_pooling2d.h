#pragma once

namespace dptrain::nn {

/// Largest value of each channel over H and W: [H, W, C] to [C], or [1, 1, C] with keepdims (Keras GlobalMaxPooling2D).
struct GlobalMaxPooling2DSpec {
  bool keepdims = false;
};

}  // namespace dptrain::nn
