#pragma once

// Indices of a BatchNormalization's weights among its arguments, in Keras's order.

#include <cstddef>

#include "nn/normalization.h"

namespace dptrain::backend {

struct BatchNormWeights {
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit BatchNormWeights(const nn::BatchNormalizationSpec& spec)
      : gamma(spec.scale ? 0 : kNone),
        beta(spec.center ? std::size_t{spec.scale} : kNone),
        moving_mean(std::size_t{spec.scale} + std::size_t{spec.center}),
        moving_variance(moving_mean + 1) {}

  std::size_t gamma, beta;  ///< kNone: not present
  std::size_t moving_mean, moving_variance;
};

}  // namespace dptrain::backend
