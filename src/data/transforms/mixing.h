#pragma once

#include <vector>

#include "data/source.h"

namespace dptrain::data {

/// lambda * sample + (1 - lambda) * partner, for image and label; lambda from Beta(alpha, alpha). See data/mixing.h.
struct MixUpSpec {
  double alpha = 0.2;
};
/// out = weight * own + (1 - weight) * other, for images of the same shape.
void mix_images(const ImageView& own, const ImageView& other, float weight, Array& out);

/// Pastes a rectangle of the partner into the sample and weights labels by area. Its relative area is 1 - lambda,
/// lambda from Beta(a, a), a uniform in [0, factor] or [lower, upper]. See data/mixing.h.
struct CutMixSpec {
  std::vector<double> factor{1};
};
/// Copies `own` to `out`, with the rectangle from `other`, for images of the same shape and type.
void paste(const ImageView& own, const ImageView& other, const Window& box, Array& out);

}  // namespace dptrain::data
