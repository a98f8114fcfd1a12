#pragma once

#include <cstdint>

#include "data/images/image_resize.h"

namespace dptrain::data {

/// To height x width; image_resize.h.
struct ResizingSpec {
  std::int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool crop_to_aspect_ratio = false, antialias = false;
  bool scaled_decode = false;  ///< JPEGs may be decoded at a part of their size that is not below height x width
};

}  // namespace dptrain::data
