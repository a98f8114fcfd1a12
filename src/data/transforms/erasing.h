#pragma once

#include <vector>

#include "core/random.h"
#include "data/source.h"
#include "data/transforms/draws.h"

namespace dptrain::data {

/// A rectangle of noise, or of one value, with a probability that is itself uniform in `factor`. The squares of its
/// parts of width and height are uniform in `scale`. Each: [0, f] for one number, or [lower, upper].
struct RandomErasingSpec {
  std::vector<double> factor{1};
  std::vector<double> scale{0.02, 0.33};
  std::vector<double>
      fill_value;  ///< one for all channels, or three; none: noise, a normal times the range's upper end
  std::vector<double> value_range{0, 255};
};
/// The rectangle of an image of floats, in place; `stream` draws the noise.
void erase(Array& image, const Window& box, const RandomErasingSpec& spec, RandomStream& stream);

}  // namespace dptrain::data
