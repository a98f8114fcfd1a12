#pragma once

// Layers that change the extent of steps, images and volumes: padding, cropping, enlarging, resizing.

#include <array>
#include <cstdint>
#include <utility>

#include "config/value.h"
#include "nn/geometry.h"

namespace dptrain::nn {

/// [steps, C] without steps at its ends (Keras Cropping1D).
struct Cropping1DSpec {
  Ends cropping{1, 1};
};

/// [H, W, C] without rows and columns at its sides (Keras Cropping2D).
struct Cropping2DSpec {
  Sides cropping;
};

/// [D, H, W, C] without frames, rows and columns at its sides (Keras Cropping3D).
struct Cropping3DSpec {
  VolumeSides cropping{{1, 1}, {1, 1}, {1, 1}};
};

/// Steps of zeros before and after [steps, C] (Keras ZeroPadding1D).
struct ZeroPadding1DSpec {
  Ends padding{1, 1};
};

/// Rows and columns of zeros around [H, W, C] (Keras ZeroPadding2D).
struct ZeroPadding2DSpec {
  Sides padding{1, 1, 1, 1};
};

/// Frames, rows and columns of zeros around [D, H, W, C] (Keras ZeroPadding3D).
struct ZeroPadding3DSpec {
  VolumeSides padding{{1, 1}, {1, 1}, {1, 1}};
};

/// Every step of [steps, C] `size` times, one copy behind the other (Keras UpSampling1D).
struct UpSampling1DSpec {
  std::int64_t size = 2;
};

enum class Interpolation { kNearest, kBilinear };

/// [H, W, C] enlarged by whole factors (Keras UpSampling2D): repeated, or interpolated between the centres of pixels,
/// at the border the outermost ones.
struct UpSampling2DSpec {
  Size2 size{2, 2};
  Interpolation interpolation = Interpolation::kNearest;
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::Interpolation> {
  static constexpr std::array names{std::pair{dptrain::nn::Interpolation::kNearest, "nearest"},
                                    std::pair{dptrain::nn::Interpolation::kBilinear, "bilinear"}};
};

namespace dptrain::nn {

/// Every value of [D, H, W, C] repeated along each axis (Keras UpSampling3D).
struct UpSampling3DSpec {
  Size3 size{2, 2, 2};
};

/// [H, W, C] to [height, width, C]: the centres of the new pixels lie evenly over the old ones, and each takes the
/// pixel that its centre lies in, or is interpolated between the centres of the next ones (Keras Resizing without
/// antialias and without keeping the aspect ratio).
struct ResizingSpec {
  std::int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
};

}  // namespace dptrain::nn
