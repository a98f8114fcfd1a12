#pragma once

// Layers that rearrange or mask their input without arithmetic.

#include <cstdint>

#include "core/shape.h"

namespace dptrain::nn {

/// Everything after the batch as one axis, row-major H, W, C (Keras Flatten).
struct FlattenSpec {};

/// Leaves a step [..., features] out whose features all equal mask_value: zeros come out, and the layer says which
/// steps are valid (Keras Masking).
struct MaskingSpec {
  double mask_value = 0;
};

/// The axes of a sample in another order: output axis i is input axis dims[i], counted from 1 (Keras Permute).
struct PermuteSpec {
  Shape dims;
};

/// [features] -> [n, features]: the vector n times (Keras RepeatVector).
struct RepeatVectorSpec {
  std::int64_t n = 1;
};

/// Row-major reshape of one sample; one extent may be -1 (Keras Reshape).
struct ReshapeSpec {
  Shape target_shape;
};

}  // namespace dptrain::nn
