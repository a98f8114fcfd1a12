#pragma once

// Pooling over steps, images and volumes, with windows and over the whole extent.

#include <optional>

#include "nn/geometry.h"

namespace dptrain::nn {

/// Mean of each window of [steps, C]; padding is left out of the divisor (Keras AveragePooling1D).
struct AveragePooling1DSpec {
  Extent pool_size{2};
  std::optional<Extent> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

/// Mean of each window of [H, W, C]; padding is left out of the divisor (Keras AveragePooling2D).
struct AveragePooling2DSpec {
  Size2 pool_size{2, 2};
  std::optional<Size2> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

/// Mean of each window of [D, H, W, C]; padding is left out of the divisor (Keras AveragePooling3D).
struct AveragePooling3DSpec {
  Size3 pool_size{2, 2, 2};
  std::optional<Size3> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

/// Largest value in each window of [steps, C]; `same` pads with minus infinity (Keras MaxPooling1D).
struct MaxPooling1DSpec {
  Extent pool_size{2};
  std::optional<Extent> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

/// Largest value in each window of [H, W, C]; `same` pads with minus infinity (Keras MaxPooling2D).
struct MaxPooling2DSpec {
  Size2 pool_size{2, 2};
  std::optional<Size2> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

/// Largest value in each window of [D, H, W, C]; `same` pads with minus infinity (Keras MaxPooling3D).
struct MaxPooling3DSpec {
  Size3 pool_size{2, 2, 2};
  std::optional<Size3> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};

/// Mean value of each feature over the steps, those that a mask leaves out apart: [steps, features] to [features], or
/// [1, features] with keepdims (Keras GlobalAveragePooling1D). Of a sample without a valid step: NaN, as in Keras.
struct GlobalAveragePooling1DSpec {
  bool keepdims = false;
};

/// Mean value of each channel over H and W: [H, W, C] to [C], or [1, 1, C] with keepdims (Keras
/// GlobalAveragePooling2D).
struct GlobalAveragePooling2DSpec {
  bool keepdims = false;
};

/// Mean value of each channel over depth, height and width: [D, H, W, C] to [C], or [1, 1, 1, C] with keepdims (Keras
/// GlobalAveragePooling3D).
struct GlobalAveragePooling3DSpec {
  bool keepdims = false;
};

/// Largest value of each channel over the steps: [steps, C] to [C], or [1, C] with keepdims (Keras GlobalMaxPooling1D).
struct GlobalMaxPooling1DSpec {
  bool keepdims = false;
};

/// Largest value of each channel over H and W: [H, W, C] to [C], or [1, 1, C] with keepdims (Keras GlobalMaxPooling2D).
struct GlobalMaxPooling2DSpec {
  bool keepdims = false;
};

/// Largest value of each channel over depth, height and width: [D, H, W, C] to [C], or [1, 1, 1, C] with keepdims
/// (Keras GlobalMaxPooling3D).
struct GlobalMaxPooling3DSpec {
  bool keepdims = false;
};

}  // namespace dptrain::nn
