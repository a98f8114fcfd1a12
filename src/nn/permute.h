#pragma once

#include "core/shape.h"

namespace dptrain::nn {

/// The axes of a sample in another order: output axis i is input axis dims[i], counted from 1 (Keras Permute).
struct PermuteSpec {
  Shape dims;
};

}  // namespace dptrain::nn
