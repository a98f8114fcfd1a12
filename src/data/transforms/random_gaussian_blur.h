#pragma once

#include <cstdint>
#include <vector>

#include "data/source.h"

namespace dptrain::data {

/// Blurs with a Gaussian of kernel_size x kernel_size, with a probability that is itself uniform in `factor`, and clips
/// to value_range. The deviation of each axis is uniform in `sigma`. Ranges: [0, f] for one number, or [lower, upper].
struct RandomGaussianBlurSpec {
  std::vector<double> factor{1};
  std::int64_t kernel_size = 3;
  std::vector<double> sigma{1};
  std::vector<double> value_range{0, 255};
};
/// Blurs an image [H, W, C], with zeros outside, to `out` in floats. Deviations must be above 0.
void gaussian_blur(const ImageView& image, std::int64_t kernel_size, float sigma_x, float sigma_y, Array& out);

}  // namespace dptrain::data
