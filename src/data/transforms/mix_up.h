#pragma once

#include "data/source.h"

namespace dptrain::data {

/// lambda x + (1 - lambda) of the partner, image and label; lambda from Beta(alpha, alpha). See data/mixing.h.
struct MixUpSpec {
  double alpha = 0.2;
};
/// `out` becomes weight own + (1 - weight) other, of one shape.
void mix_images(const ImageView& own, const ImageView& other, float weight, Array& out);

}  // namespace dptrain::data
