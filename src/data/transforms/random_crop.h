#pragma once

#include <cstdint>

namespace dptrain::data {

/// A random height x width out of the image with `padding` zeros on every side. A smaller image is resized
/// as in CenterCrop.
struct RandomCropSpec {
  std::int64_t height = 0, width = 0, padding = 0;
};

}  // namespace dptrain::data
