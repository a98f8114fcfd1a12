#pragma once

namespace dptrain::nn {

/// Largest value of each channel over depth, height and width: [D, H, W, C] to [C], or [1, 1, 1, C] with keepdims
/// (Keras GlobalMaxPooling3D).
struct GlobalMaxPooling3DSpec {
  bool keepdims = false;
};

}  // namespace dptrain::nn
