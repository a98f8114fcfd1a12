#pragma once

#include <optional>

#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

/// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta over the last axis; training: biased batch moments,
/// inference (and `trainable: false`): moving averages (Keras BatchNormalization).
struct BatchNormalizationSpec {
  int axis = -1;  ///< only the last axis: -1, or its number (3 for images, batch counted)
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer{Zeros{}};
  Initializer gamma_initializer{Ones{}};
  Initializer moving_mean_initializer{Zeros{}};
  Initializer moving_variance_initializer{Ones{}};
  Regularizer beta_regularizer;
  Regularizer gamma_regularizer;
  bool inference_mode = false;  ///< moving averages in training, too, which stay as they are; gamma and beta train
  bool synchronized = false;    ///< moments over all replicas' samples; also parallel.sync_batchnorm
};

}  // namespace dptrain::nn
