#pragma once

#include <vector>

#include "data/source.h"

namespace dptrain::data {

/// lambda x + (1 - lambda) of the partner, image and label; lambda from Beta(alpha, alpha). See data/mixing.h.
struct MixUpSpec {
  double alpha = 0.2;
};
/// `out` becomes weight own + (1 - weight) other, of one shape.
void mix_images(const ImageView& own, const ImageView& other, float weight, Array& out);

/// A rectangle of the partner in place of the sample's own, the label by area. Its area is 1 - lambda, lambda from
/// Beta(a, a), a uniform in [0, factor] or [lower, upper]. See data/mixing.h.
struct CutMixSpec {
  std::vector<double> factor{1};
};
/// `out` becomes `own` with the rectangle of `other`, of one shape and type.
void paste(const ImageView& own, const ImageView& other, const Window& box, Array& out);

}  // namespace dptrain::data
