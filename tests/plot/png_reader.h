#pragma once

#include <cstdint>
#include <vector>

#include "plot/rgb_image.h"

namespace dptrain::plot {

/// Reads a PNG with stb_image; an image without pixels where it is none.
RgbImage read_png(const std::vector<std::uint8_t>& bytes);

}  // namespace dptrain::plot
