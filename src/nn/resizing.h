#pragma once

// Layers that change the extents of steps [steps, C], images [H, W, C] and volumes [D, H, W, C]: cropping, padding,
// enlarging, resizing. Rank is 1, 2 or 3.

#include <array>
#include <cstdint>
#include <utility>

#include "config/typed.h"
#include "nn/geometry.h"

namespace dptrain::nn {

/// 1 at each end of each axis.
template <int Rank>
constexpr Margins<Rank> single_margins() {
  if constexpr (Rank == 1) return {1, 1};
  if constexpr (Rank == 2) return {1, 1, 1, 1};
  if constexpr (Rank == 3) return {{1, 1}, {1, 1}, {1, 1}};
}

/// Removes steps, rows, frames at the ends (Keras Cropping1D, 2D, 3D).
template <int Rank>
struct CroppingSpec {
  Margins<Rank> cropping = Rank == 2 ? Margins<Rank>{} : single_margins<Rank>();
};
using Cropping1DSpec = CroppingSpec<1>;
using Cropping2DSpec = CroppingSpec<2>;
using Cropping3DSpec = CroppingSpec<3>;

/// Adds zeros at the ends (Keras ZeroPadding1D, 2D, 3D).
template <int Rank>
struct ZeroPaddingSpec {
  Margins<Rank> padding = single_margins<Rank>();
};
using ZeroPadding1DSpec = ZeroPaddingSpec<1>;
using ZeroPadding2DSpec = ZeroPaddingSpec<2>;
using ZeroPadding3DSpec = ZeroPaddingSpec<3>;

/// Every step of [steps, C] `size` times in succession (Keras UpSampling1D).
struct UpSampling1DSpec {
  std::int64_t size = 2;
};

enum class Interpolation { kNearest, kBilinear };

/// [H, W, C] enlarged by whole factors (Keras UpSampling2D). Values are repeated, or interpolated between the centres
/// of pixels; beyond the outermost centres they are those of the border.
struct UpSampling2DSpec {
  Size2 size{2, 2};
  Interpolation interpolation = Interpolation::kNearest;
};

/// Every value of [D, H, W, C] repeated along each axis (Keras UpSampling3D).
struct UpSampling3DSpec {
  Size3 size{2, 2, 2};
};

/// [H, W, C] to [height, width, C] (Keras Resizing without antialias and without keeping the aspect ratio). The centres
/// of the new pixels are spaced evenly over the old ones. Each is the pixel that contains its centre, or is
/// interpolated between the nearest centres.
struct ResizingSpec {
  std::int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::Interpolation> {
  static constexpr std::array names{std::pair{dptrain::nn::Interpolation::kNearest, "nearest"},
                                    std::pair{dptrain::nn::Interpolation::kBilinear, "bilinear"}};
};
