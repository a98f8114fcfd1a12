#pragma once

#include "config/value.h"
#include "core/shape.h"

namespace dptrain::nn {

enum class InputType { kFloat32, kInt32 };

/// Where data enters the graph (Keras InputLayer): the shape of one sample.
struct InputSpec {
  Shape shape;
  InputType dtype = InputType::kFloat32;
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::InputType> {
  using T = dptrain::nn::InputType;
  static constexpr std::array names{std::pair{T::kFloat32, "float32"}, std::pair{T::kInt32, "int32"}};
};
