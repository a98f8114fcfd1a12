#pragma once

#include <cstdint>
#include <vector>

#include "core/shape.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and biased variance over the last axes of each
/// sample; gamma and beta have their shape (Keras LayerNormalization).
struct LayerNormalizationSpec {
  std::vector<std::int64_t> axis{-1};  ///< the last one or the last few; the batch is axis 0
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer{Zeros{}};
  Initializer gamma_initializer{Ones{}};
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
};

/// Extents of the axes that are normalised. Throws LayerError where they are not the last ones.
Shape normalized_shape(const LayerNormalizationSpec& spec, const Shape& in);

}  // namespace dptrain::nn
