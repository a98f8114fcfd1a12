#pragma once

#include <cstdint>

namespace dptrain::data {

/// The middle height x width. A smaller image is resized as Resizing with crop_to_aspect_ratio does it.
struct CenterCropSpec {
  std::int64_t height = 0, width = 0;
};

}  // namespace dptrain::data
