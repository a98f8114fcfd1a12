#pragma once

#include <cstdint>
#include <vector>

#include "plot/rgb_image.h"

namespace dptrain::plot {

/// Reads a PNG with stb_image; returns an image without pixels if it is invalid.
RgbImage read_png(const std::vector<std::uint8_t>& bytes);

}  // namespace dptrain::plot
