#pragma once

// The input of a model, and layers that rearrange or mask values without arithmetic.

#include <array>
#include <cstdint>
#include <utility>

#include "config/typed.h"
#include "core/shape.h"

namespace dptrain::nn {

enum class InputType { kFloat32, kInt32 };

/// An input of the graph (Keras InputLayer), with the shape of one sample.
struct InputSpec {
  Shape shape;
  InputType dtype = InputType::kFloat32;
};

/// Everything after the batch as one axis, row-major H, W, C (Keras Flatten).
struct FlattenSpec {};

/// Masks the steps [..., features] whose features all equal mask_value. Their output is zero, and a second output is
/// the mask (Keras Masking).
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

template <>
struct dptrain::config::EnumNames<dptrain::nn::InputType> {
  using T = dptrain::nn::InputType;
  static constexpr std::array names{std::pair{T::kFloat32, "float32"}, std::pair{T::kInt32, "int32"}};
};
