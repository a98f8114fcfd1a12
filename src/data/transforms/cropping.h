#pragma once

#include <cstdint>
#include <vector>

#include "data/images/image_resize.h"

namespace dptrain::data {

/// Crops the central height x width. Resizes a smaller image like Resizing with crop_to_aspect_ratio.
struct CenterCropSpec {
  std::int64_t height = 0, width = 0;
};

/// Crops a random height x width of the image with `padding` zeros on every side. Resizes smaller ones like CenterCrop.
struct RandomCropSpec {
  std::int64_t height = 0, width = 0, padding = 0;
};

/// Crops a window of random area and aspect ratio and resizes it to height x width: the augmentation of Szegedy et al.
/// (2015), drawn as in torchvision.
struct RandomResizedCropSpec {
  std::int64_t height = 0, width = 0;
  std::vector<double> scale{0.08, 1.0};         ///< fraction of the image's area
  std::vector<double> ratio{3.0 / 4, 4.0 / 3};  ///< width / height
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = false;
};

struct ResizingSpec {
  std::int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool crop_to_aspect_ratio = false, antialias = false;
  bool scaled_decode = false;  ///< JPEGs may be decoded at a fraction of their size, but not below height x width
};

}  // namespace dptrain::data
