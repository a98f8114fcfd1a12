#pragma once

#include "core/shape.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and biased variance of each sample over all
/// positions and a group of neighbouring channels (Keras GroupNormalization).
struct GroupNormalizationSpec {
  std::int64_t groups = 32;  ///< -1: as many as channels
  int axis = -1;             ///< only the last axis: -1, or its number (3 for images, batch counted)
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer{Zeros{}};
  Initializer gamma_initializer{Ones{}};
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
};

/// Of an input that the layer accepts.
inline std::int64_t group_count(const GroupNormalizationSpec& spec, const Shape& in) {
  return spec.groups == -1 ? in.back() : spec.groups;
}

}  // namespace dptrain::nn
