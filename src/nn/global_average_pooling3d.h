#pragma once

namespace dptrain::nn {

/// Mean value of each channel over depth, height and width: [D, H, W, C] to [C], or [1, 1, 1, C] with keepdims (Keras
/// GlobalAveragePooling3D).
struct GlobalAveragePooling3DSpec {
  bool keepdims = false;
};

}  // namespace dptrain::nn
