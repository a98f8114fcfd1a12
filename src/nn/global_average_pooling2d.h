#pragma once

namespace dptrain::nn {

/// Mean value of each channel over H and W: [H, W, C] to [C], or [1, 1, C] with keepdims (Keras
/// GlobalAveragePooling2D).
struct GlobalAveragePooling2DSpec {
  bool keepdims = false;
};

}  // namespace dptrain::nn
