#pragma once

#include "config/value.h"
#include "core/shape.h"

namespace dptrain::layers {

enum class InputType { kFloat32, kInt32 };

/// Where data enters the graph (Keras InputLayer): the shape of one sample.
struct InputSpec {
  Shape shape;
  InputType dtype = InputType::kFloat32;
};

}  // namespace dptrain::layers

template <>
struct dptrain::config::EnumNames<dptrain::layers::InputType> {
  using T = dptrain::layers::InputType;
  static constexpr std::array names{std::pair{T::kFloat32, "float32"}, std::pair{T::kInt32, "int32"}};
};
