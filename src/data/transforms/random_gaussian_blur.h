#pragma once

#include <cstdint>
#include <vector>

#include "data/source.h"

namespace dptrain::data {

/// A Gaussian of kernel_size x kernel_size with a probability that is itself uniform in `factor`; its deviation uniform
/// in `sigma`, for either axis by itself. Each: [0, f] for one number, or [lower, upper]. Clipped to value_range.
struct RandomGaussianBlurSpec {
  std::vector<double> factor{1};
  std::int64_t kernel_size = 3;
  std::vector<double> sigma{1};
  std::vector<double> value_range{0, 255};
};
/// `out` becomes the floats of `image` [H, W, C], zeros outside, blurred with these deviations, which are above 0.
void gaussian_blur(const ImageView& image, std::int64_t kernel_size, float sigma_x, float sigma_y, Array& out);

}  // namespace dptrain::data
