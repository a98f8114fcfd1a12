#pragma once

#include <vector>

#include "core/random.h"
#include "data/source.h"
#include "data/transforms/draws.h"

namespace dptrain::data {

/// Fills a random rectangle with noise or a value, with a probability that is itself uniform in `factor`. The squares
/// of its relative width and height are uniform in `scale`. Ranges: [0, f] for one number, or [lower, upper].
struct RandomErasingSpec {
  std::vector<double> factor{1};
  std::vector<double> scale{0.02, 0.33};
  std::vector<double>
      fill_value;  ///< one for all channels, or three; empty: normal noise times the upper end of value_range
  std::vector<double> value_range{0, 255};
};
/// Fills the rectangle of an image of floats, in place. `stream` draws the noise.
void erase(Array& image, const Window& box, const RandomErasingSpec& spec, RandomStream& stream);

}  // namespace dptrain::data
