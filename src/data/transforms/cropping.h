#pragma once

#include <cstdint>
#include <vector>

#include "data/images/image_resize.h"

namespace dptrain::data {

/// The central height x width. A smaller image is resized as by Resizing with crop_to_aspect_ratio.
struct CenterCropSpec {
  std::int64_t height = 0, width = 0;
};

/// A random height x width out of the image with `padding` zeros on every side. A smaller image is resized
/// as in CenterCrop.
struct RandomCropSpec {
  std::int64_t height = 0, width = 0, padding = 0;
};

/// A window of random area and ratio of sides, resized to height x width: the augmentation of Szegedy et al. (2015),
/// drawn as torchvision does.
struct RandomResizedCropSpec {
  std::int64_t height = 0, width = 0;
  std::vector<double> scale{0.08, 1.0};         ///< fraction of the image's area
  std::vector<double> ratio{3.0 / 4, 4.0 / 3};  ///< width / height
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = false;
};

/// Resizes to height x width (image_resize.h).
struct ResizingSpec {
  std::int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool crop_to_aspect_ratio = false, antialias = false;
  bool scaled_decode = false;  ///< JPEGs may be decoded at a fraction of their size, but not below height x width
};

}  // namespace dptrain::data
