#pragma once

// Pooling over steps [steps, C], images [H, W, C] and volumes [D, H, W, C] (Rank 1, 2, 3), in windows or globally.

#include <cstdint>
#include <optional>

#include "nn/geometry.h"

namespace dptrain::nn {

/// 2 along each axis.
template <int Rank>
constexpr Size<Rank> pairs() {
  if constexpr (Rank == 1) return {2};
  if constexpr (Rank == 2) return {2, 2};
  if constexpr (Rank == 3) return {2, 2, 2};
}

/// Mean of each window; the divisor does not count padding (Keras AveragePooling1D, 2D, 3D).
template <int Rank>
struct AveragePoolingSpec {
  Size<Rank> pool_size = pairs<Rank>();
  std::optional<Size<Rank>> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};
using AveragePooling1DSpec = AveragePoolingSpec<1>;
using AveragePooling2DSpec = AveragePoolingSpec<2>;
using AveragePooling3DSpec = AveragePoolingSpec<3>;

/// Most values in a window of MaxPooling, whose kernels save positions in a byte.
inline constexpr std::int64_t kMaxPoolWindow = 255;

/// Largest value in each window; `same` pads with minus infinity (Keras MaxPooling1D, 2D, 3D).
template <int Rank>
struct MaxPoolingSpec {
  Size<Rank> pool_size = pairs<Rank>();
  std::optional<Size<Rank>> strides;  ///< absent: equal to pool_size
  Padding padding = Padding::kValid;
};
using MaxPooling1DSpec = MaxPoolingSpec<1>;
using MaxPooling2DSpec = MaxPoolingSpec<2>;
using MaxPooling3DSpec = MaxPoolingSpec<3>;

/// Mean of each channel: [C], or [1..., C] with keepdims (Keras GlobalAveragePooling1D, 2D, 3D). Masked steps do not
/// count. A sample without a valid step gives NaN, as in Keras.
template <int Rank>
struct GlobalAveragePoolingSpec {
  bool keepdims = false;
};
using GlobalAveragePooling1DSpec = GlobalAveragePoolingSpec<1>;
using GlobalAveragePooling2DSpec = GlobalAveragePoolingSpec<2>;
using GlobalAveragePooling3DSpec = GlobalAveragePoolingSpec<3>;

/// Largest value of each channel: [C], or [1..., C] with keepdims (Keras GlobalMaxPooling1D, 2D, 3D).
template <int Rank>
struct GlobalMaxPoolingSpec {
  bool keepdims = false;
};
using GlobalMaxPooling1DSpec = GlobalMaxPoolingSpec<1>;
using GlobalMaxPooling2DSpec = GlobalMaxPoolingSpec<2>;
using GlobalMaxPooling3DSpec = GlobalMaxPoolingSpec<3>;

}  // namespace dptrain::nn
