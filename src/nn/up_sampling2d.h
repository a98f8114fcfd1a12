#pragma once

#include <array>
#include <utility>

#include "config/value.h"

namespace dptrain::nn {

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
