#pragma once

#include "core/shape.h"

namespace dptrain::nn {

/// Row-major reshape of one sample; one extent may be -1 (Keras Reshape).
struct ReshapeSpec {
  Shape target_shape;
};

}  // namespace dptrain::nn
