#pragma once

#include <cstdint>
#include <vector>

#include "data/images/image_resize.h"

namespace dptrain::data {

/// A window of random area and ratio of sides, resized to height x width: the augmentation of Szegedy et al. (2015),
/// drawn as torchvision does.
struct RandomResizedCropSpec {
  std::int64_t height = 0, width = 0;
  std::vector<double> scale{0.08, 1.0};         ///< of the area
  std::vector<double> ratio{3.0 / 4, 4.0 / 3};  ///< width / height
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = false;
};

}  // namespace dptrain::data
